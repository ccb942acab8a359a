"""Numbers for a page: few digits, nothing that JSON cannot hold."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from steinbox.common.arrays import Array

_DIGITS = 5


def to_json(values: Array) -> Any:
    """Nested lists of numbers with five digits, None where there is none.

    Examples
    --------
    >>> to_json(np.array([[1.0, 2 / 3], [np.nan, -np.inf]]))
    [[1.0, 0.66667], [None, None]]
    """
    if values.ndim > 1:
        return [to_json(row) for row in values]
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return [float(f"{number:.{_DIGITS}g}") if isfinite(number) else None for number in numbers]
