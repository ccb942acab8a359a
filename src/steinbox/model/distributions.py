"""Distributions of ``scipy.stats`` as factors of a prior: of the old interface, of the new one, and joint ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.initial import Initial, ScipyIndependent, ScipyMultivariate, as_initial
from steinbox.maps.bounds import Periodic

_NUM_DRAWS = 1000  # of a joint distribution, to see whether it has a density
_MIN_RANK_RATIO = 1e-10  # of the largest eigenvalue of their covariance
_CIRCULAR = ("vonmises", "wrapcauchy")  # distributions of scipy.stats whose ends are one


@dataclass(frozen=True)
class NewInterface:
    """A distribution of SciPy's new interface (``scipy.stats.Normal(mu=0, sigma=1)``) with the methods of the old."""

    distribution: Any

    def rvs(self, size: Any = (), random_state: Any = None) -> Array:
        return np.asarray(self.distribution.sample(size, rng=random_state), dtype=np.float64)

    def logpdf(self, x: Array) -> Array:
        return np.asarray(self.distribution.logpdf(x), dtype=np.float64)

    def cdf(self, x: Array) -> Array:
        return np.asarray(self.distribution.cdf(x), dtype=np.float64)

    def support(self) -> tuple[Any, Any]:
        low, high = self.distribution.support()
        return low, high


@dataclass(frozen=True)
class OneTurn:
    """A density on the circle within one turn only: SciPy's goes on around it, and would be counted twice."""

    frozen: Any
    low: float
    high: float

    def rvs(self, size: Any = (), random_state: Any = None) -> Array:
        draws = np.asarray(self.frozen.rvs(size=size, random_state=random_state))
        return self.low + (draws - self.low) % (self.high - self.low)

    def logpdf(self, x: Array) -> Array:
        return np.where((x >= self.low) & (x <= self.high), self.frozen.logpdf(x), -np.inf)


@dataclass(frozen=True)
class Factor:
    """Independent of all other factors of a prior: its parameters, their density and their bounds."""

    names: tuple[str, ...]
    density: Initial
    bounds: tuple[object, ...]


def as_factor(names: tuple[str, ...], given: Any, *, is_periodic: bool = False) -> Factor:
    """Understand one entry of a prior."""
    label = names[0] if len(names) == 1 else str(names)
    if isinstance(given, type):
        raise TypeError(f"expected a distribution for {label}, got the class {given.__name__}; give its parameters")
    if isinstance(given, Initial):
        return _joint_factor(names, given, label)
    if hasattr(given, "sample") and hasattr(given, "logpdf"):
        given = NewInterface(given)
    if hasattr(given, "rvs") and hasattr(given, "logpdf") and hasattr(given, "support"):
        return _univariate_factor(names, given, label, is_periodic)
    if hasattr(given, "logpmf"):
        raise TypeError(f"expected a continuous distribution for {label}; a discrete parameter has to be summed out")
    if not (hasattr(given, "rvs") and hasattr(given, "logpdf")):
        raise _no_distribution(label, given)
    density = as_initial(given)
    assert not isinstance(density, np.ndarray)  # that only particles become
    return _joint_factor(names, density, label)


def _no_distribution(label: str, given: object) -> TypeError:
    return TypeError(
        f"expected a distribution of scipy.stats with its parameters for {label}, such as stats.norm(0, 1), "
        f"got {given!r}"
    )


def _univariate_factor(names: tuple[str, ...], given: Any, label: str, is_periodic: bool) -> Factor:
    try:
        low, _ = given.support()
    except TypeError:
        raise _no_distribution(label, given) from None
    if np.ndim(low) or len(names) != 1:
        raise TypeError(
            f"expected one distribution with numbers as parameters for each parameter, got one for {label}: give "
            "independent parameters an entry each"
        )
    draw = given.rvs(random_state=np.random.default_rng(0))
    if not np.isfinite(given.logpdf(draw)):
        raise TypeError(f"expected a continuous distribution for {label}; a discrete parameter has to be summed out")
    entry = _bounds(given, label, is_periodic)
    density = OneTurn(given, entry.low, entry.high) if isinstance(entry, Periodic) else given
    return Factor(names, ScipyIndependent((density,)), (entry,))


def _bounds(given: Any, label: str, is_periodic: bool) -> Periodic | tuple[float, float]:
    """The support, as an entry of ``bounds=``."""
    low, high = (float(end) for end in given.support())
    is_circular = getattr(getattr(given, "dist", None), "name", "") in _CIRCULAR
    if is_circular and not np.isfinite(low):
        low, high = -np.pi, np.pi
        if not np.isclose(given.logpdf(0.3), given.logpdf(0.3 + 2 * np.pi)):
            raise ValueError(f"expected the prior of the angle {label} to have scale 1, a turn of 2π")
    if not (is_circular or is_periodic):
        return low, high
    if not np.isfinite(high - low):
        raise ValueError(f"expected a prior between two ends for the periodic {label}, got one from {low} to {high}")
    return Periodic(low, high)


def _joint_factor(names: tuple[str, ...], density: Initial, label: str) -> Factor:
    if density.dimension != len(names):
        raise ValueError(f"expected a distribution of {len(names)} parameters for {label}, got {density.dimension}")
    if isinstance(density, ScipyMultivariate):
        draws = density.sample(_NUM_DRAWS, np.random.default_rng(0))
        scales = np.linalg.eigvalsh(np.atleast_2d(np.cov(draws.T)))
        if scales[0] < _MIN_RANK_RATIO * scales[-1]:
            raise ValueError(
                f"the draws for {label} lie in a plane, as those of a Dirichlet distribution do: it has no density. "
                "Leave out one of the parameters, and give the others independent priors (stick breaking)"
            )
    return Factor(names, density, (None,) * len(names))
