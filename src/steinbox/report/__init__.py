"""A run as one HTML page. This room knows no result: it is given text and arrays, and renders them."""

from steinbox.report.content import Cloud, Content, Curve, Fault, Finding, Level, Table, Verdict, Way, worst_level
from steinbox.report.page import render

__all__ = ["Cloud", "Content", "Curve", "Fault", "Finding", "Level", "Table", "Verdict", "Way", "render", "worst_level"]
