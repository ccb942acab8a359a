"""The array types of the package: float64, particles as rows; and what a random generator can be made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
IntegerArray: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
RNGLike: TypeAlias = np.random.Generator | int | None
"""What ``np.random.default_rng`` makes a generator of (SPEC 7 of Scientific Python)."""


@contextmanager
def default_errstate() -> Iterator[None]:
    """NumPy's own rules for underflow and the like, whatever the user has set by ``np.seterr``; also a decorator."""
    with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        yield
