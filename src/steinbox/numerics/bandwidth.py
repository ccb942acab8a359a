r"""Rules for the bandwidth h of :math:`\exp(-\|x - y\|^2 / h)`, each named after its source.

Four things are called "the median heuristic" in the literature. Here the median is always that of the n(n−1)/2
distances between different particles, and the rules differ only in the factor :math:`c = h / \mathrm{med}^2`:

============  ======================  ==============================================
rule          c                       source
============  ======================  ==============================================
``paper``     1 / (2 log(n + 1))      Han & Liu (2018), Section 5
``liu-wang``  1 / log(n + 1)          the code of Liu & Wang (2016)
``median``    1, or ``Median(c)``     Gretton et al. (2012) and most of the kernel literature
a number      h itself                the caller
============  ======================  ==============================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.pairwise import median_squared_distance

Rule: TypeAlias = Callable[[Array], float]


@dataclass(frozen=True)
class Paper:
    r""":math:`h = \mathrm{med}^2 / (2 \log(n + 1))`."""

    def __call__(self, points: Array) -> float:
        return _scaled_median(points, 1 / (2 * np.log(len(points) + 1)))


@dataclass(frozen=True)
class LiuWang:
    r""":math:`h = \mathrm{med}^2 / \log(n + 1)`."""

    def __call__(self, points: Array) -> float:
        return _scaled_median(points, 1 / np.log(len(points) + 1))


@dataclass(frozen=True)
class Median:
    r""":math:`h = c\, \mathrm{med}^2`.

    Examples
    --------
    >>> import numpy as np
    >>> Median(factor=0.5)(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise ValueError(f"Median expects a positive factor, got {self.factor}")

    def __call__(self, points: Array) -> float:
        return _scaled_median(points, self.factor)


@dataclass(frozen=True)
class Fixed:
    """The same h for any particles."""

    bandwidth: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.bandwidth) and self.bandwidth > 0):
            raise ValueError(f"expected a positive bandwidth, got {self.bandwidth}")

    def __call__(self, points: Array) -> float:
        return float(self.bandwidth)


def _scaled_median(points: Array, factor: float) -> float:
    squared = median_squared_distance(points)
    if not squared > 0:
        raise ValueError(
            "more than half of all pairs of particles coincide, so that their median distance is zero: "
            "expected a number as bandwidth"
        )
    return float(factor * squared)


_RULES: dict[str, Rule] = {"paper": Paper(), "liu-wang": LiuWang(), "median": Median()}


def as_rule(bandwidth: float | str | Rule) -> Rule:
    """A rule from its name, a number, or any function of the particles.

    Examples
    --------
    >>> as_rule("paper"), as_rule(2)
    (Paper(), Fixed(bandwidth=2.0))
    """
    if isinstance(bandwidth, str):
        if bandwidth not in _RULES:
            raise ValueError(f"unknown bandwidth rule {bandwidth!r}; expected one of {sorted(_RULES)}, or a number")
        return _RULES[bandwidth]
    if isinstance(bandwidth, type):
        raise TypeError(f"expected a bandwidth rule, got the class {bandwidth.__name__}; write {bandwidth.__name__}()")
    if callable(bandwidth):
        return bandwidth
    if isinstance(bandwidth, (int, float, np.number)) and not isinstance(bandwidth, bool):
        return Fixed(float(bandwidth))
    raise TypeError(f"expected a bandwidth rule's name, a number or a function, got {bandwidth!r}")
