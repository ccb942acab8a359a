"""Text and numbers made safe for a page: no control characters, few digits, nothing that JSON cannot hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from steinbox.common.arrays import Array

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f]")  # all but tabs and ends of lines: shown as their pictures
_INVISIBLE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")  # also turns of direction
_DIGITS = 5


def plain(text: object) -> str:
    r"""Text in which no character does anything but show.

    Examples
    --------
    >>> plain("red\x1b[31m")
    'red␛[31m'
    """
    pictured = _CONTROLS.sub(lambda found: chr(0x2400 + ord(found[0])), str(text).replace("\r\n", "\n"))
    return _INVISIBLE.sub("\ufffd", pictured)


def to_json(values: Array) -> Any:
    """Nested lists of numbers with five digits, None where there is none.

    Examples
    --------
    >>> to_json(np.array([[1.0, 2 / 3], [np.nan, -np.inf]]))
    [[1, 0.66667], [None, None]]
    """
    if values.ndim > 1:
        return [to_json(row) for row in values]
    return [_number(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def _number(value: float) -> float | int | None:
    if not np.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e9 else rounded
