"""The failed evaluations of a run as a table."""

from __future__ import annotations

import re

from steinbox.common.tables import html_table, text_table
from steinbox.evaluation import Failure

_FILE_OF_A_CELL = re.compile(r"\S*ipykernel_\d+/\d+\.py")


class Failures(dict[str, Failure]):
    """Failures by their kind. ``str()`` gives a table; in a notebook it is shown as one.

    The traceback of the first of a kind is ``failures[kind].traceback``.

    Examples
    --------
    >>> print(Failures(exception=Failure(3, (0.5, 2.5), "ValueError: mesh is tangled")))
    kind       count  the first at                      message
    exception      3      0.5, 2.5  ValueError: mesh is tangled
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's header."""
        return ("kind", "count", "the first at", "message")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table's cells as text."""
        return [
            (
                kind,
                f"{failure.count:,}",
                ", ".join(f"{value:.4g}" for value in failure.point),
                _FILE_OF_A_CELL.sub("a cell", failure.message),
            )
            for kind, failure in self.items()
        ]

    def __str__(self) -> str:
        return text_table(self.columns, self.rows) if self else "no evaluation failed"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.rows) if self else "<p>no evaluation failed</p>"
