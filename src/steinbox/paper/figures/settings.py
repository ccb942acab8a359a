"""The settings of the paper, as far as it gives them."""

from __future__ import annotations

from typing import Any

from steinbox.maps.coordinates import Plain
from steinbox.numerics.optimizers import Adam


def paper_settings(num_iterations: int, rule: str) -> dict[str, Any]:
    """Adam with rate 0.1, the parameters' own coordinates, no rescue of stragglers, and a bandwidth rule."""
    return {
        "num_iterations": num_iterations,
        "bandwidth": rule,
        "optimizer": Adam(0.1),
        "coordinates": Plain(),
        "rescue": False,
    }
