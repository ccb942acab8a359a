"""A hook of mkdocs: formulas become MathML while the site is built, so that a page needs neither script nor font."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=tag)>', re.DOTALL)


def on_page_content(content: str, **kwargs: object) -> str:
    """What mkdocs calls with the HTML of every page."""
    return FORMULA.sub(_to_mathml, content)


def _to_mathml(match: re.Match[str]) -> str:
    display = "block" if match["tag"] == "div" else "inline"
    return convert(html.unescape(match["formula"]).strip(), display=display)
