"""A run as one HTML page. This room knows no result: it is given text and arrays, and renders them."""

from steinbox.report.content import Cloud, Content, Curve, Fault, Finding, Level, Table, Verdict, Way, worst_level
from steinbox.report.page import render, render_waiting

__all__ = [
    "Cloud",
    "Content",
    "Curve",
    "Fault",
    "Finding",
    "Level",
    "Table",
    "Verdict",
    "Way",
    "render",
    "render_waiting",
    "worst_level",
]
