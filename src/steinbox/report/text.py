"""Text and numbers made safe for a page: no control characters, few digits, nothing that JSON cannot hold."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

import numpy as np

from steinbox.common.arrays import Array

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and ends of lines: spelled out
_INVISIBLE = re.compile("[\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")  # also halves of characters
_DIGITS = 5


def plain(text: object) -> str:
    r"""Text in which no character does anything but show.

    Examples
    --------
    >>> plain("red\x1b[31m")
    'red\\x1b[31m'
    """
    spelled_out = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", str(text).replace("\r\n", "\n"))
    return _INVISIBLE.sub("\ufffd", spelled_out)


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
