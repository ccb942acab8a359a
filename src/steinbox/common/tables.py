"""Tables: cells of text, shown as text or as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right.

    Examples
    --------
    >>> print(text_table(["name", "value"], [["a", "1"], ["long name", "12.5"]]))
    name       value
    a              1
    long name   12.5
    """
    table = [columns, *rows]
    widths = [max(len(row[k]) for row in table) for k in range(len(columns))]
    return "\n".join(
        row[0].ljust(widths[0]) + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in table
    )


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same for a notebook; whatever the cells hold is shown and not interpreted.

    Examples
    --------
    >>> html_table(["name"], [["<b>"]])
    '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{_cells('th', columns)}</tr></thead><tbody>{body}</tbody></table>"


def html_paragraphs(sentences: Sequence[str]) -> str:
    """A paragraph each."""
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)


def _cells(tag: str, cells: Sequence[str]) -> str:
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
