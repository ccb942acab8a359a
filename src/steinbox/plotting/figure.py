"""A figure that a notebook shows by itself. Import it where a picture is drawn: it needs matplotlib."""

from __future__ import annotations

import io

from matplotlib import figure


class Figure(figure.Figure):
    """A figure without pyplot: nothing keeps it open, and no ``%matplotlib inline`` is needed to see it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100, bbox_inches="tight")
        return buffer.getvalue()
