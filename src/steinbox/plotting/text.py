"""What all pictures share: matplotlib, if it is installed, and text as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steinbox.plotting.figure import Figure


def import_figure() -> type[Figure]:
    """Matplotlib's figure, which needs no display, and which a notebook shows by itself."""
    try:
        from steinbox.plotting.figure import Figure
    except ImportError:
        raise ImportError('pictures need matplotlib: pip install "steinbox[plot]"') from None
    return Figure


def escape(text: str) -> str:
    """Text that matplotlib shows as it is: dollar signs would start mathematics."""
    return text.replace("$", r"\$")
