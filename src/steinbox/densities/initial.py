"""The initial distribution p0: drawn from, evaluated and, for annealing with scores, differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from steinbox.common.arrays import Array, RNGLike
from steinbox.densities.gaussian import Gaussian


@runtime_checkable
class Initial(Protocol):
    """What p0 offers; :class:`steinbox.Gaussian` is one."""

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        ...

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        """Independent draws, (num_points, d)."""
        ...

    def log_prob(self, points: Array) -> Array:
        """Log-density at the rows of ``points``; normalized, since importance samplers weight draws by it."""
        ...

    def score(self, points: Array) -> Array:
        """Gradient of the log-density at the rows of ``points``."""
        ...


@dataclass(frozen=True)
class ScipyMultivariate:
    """A frozen multivariate distribution of ``scipy.stats``; its score by central differences."""

    frozen: Any
    dimension: int

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        rng = np.random.default_rng(rng)
        draws = self.frozen.rvs(size=num_points, random_state=rng)
        return np.asarray(draws, dtype=np.float64).reshape(num_points, self.dimension)

    def log_prob(self, points: Array) -> Array:
        return np.asarray(self.frozen.logpdf(points), dtype=np.float64).reshape(len(points))

    def score(self, points: Array) -> Array:
        return _central_differences(self.log_prob, points)


@dataclass(frozen=True)
class ScipyIndependent:
    """Independent coordinates, each a frozen univariate distribution of ``scipy.stats``."""

    marginals: tuple[Any, ...]

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return len(self.marginals)

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        rng = np.random.default_rng(rng)
        return np.column_stack([marginal.rvs(size=num_points, random_state=rng) for marginal in self.marginals])

    def log_prob(self, points: Array) -> Array:
        return np.asarray(np.sum([marginal.logpdf(points[:, k]) for k, marginal in enumerate(self.marginals)], axis=0))

    def score(self, points: Array) -> Array:
        return _central_differences(self.log_prob, points)


def _central_differences(log_prob: Any, points: Array) -> Array:
    """Gradient of the rows' log-density; p0 is cheap, so 2d calls of it cost nothing against one of the target."""
    gradient = np.empty_like(points)
    for k in range(points.shape[1]):
        step = np.zeros_like(points)
        step[:, k] = np.cbrt(np.finfo(np.float64).eps) * np.maximum(np.abs(points[:, k]), 1.0)
        gradient[:, k] = (log_prob(points + step) - log_prob(points - step)) / (2 * step[:, k])
    return gradient


def as_initial(initial: object) -> Initial | Array:
    """Understand what the user gave: a distribution, or an array of particles (returned as a checked array)."""
    if isinstance(initial, type):
        raise TypeError(f"expected a distribution, got the class {initial.__name__}; write {initial.__name__}(…)")
    if isinstance(initial, Initial):
        return initial
    if _is_frozen(initial):
        return _from_frozen(initial)
    if isinstance(initial, Sequence) and len(initial) > 0 and all(_is_frozen(item) for item in initial):
        if not all(hasattr(item, "cdf") and np.ndim(item.rvs()) == 0 for item in initial):
            raise TypeError("expected a list of univariate scipy.stats distributions, one for each parameter")
        return ScipyIndependent(tuple(initial))
    return _check_particles(initial)


def fit_initial(particles: Array) -> Gaussian:
    """The p0 of annealed methods when only particles were given: the Gaussian with their mean and covariance."""
    return Gaussian.fit(particles)


def path_start(initial: Initial, particles: Array, rng: np.random.Generator) -> Initial:
    """The p0 of an annealed path: the initial distribution, or a Gaussian fitted to its draws where it has walls.

    A path from a uniform distribution would keep its walls until the last step, and no particle could pass them.
    """
    spread = particles.std(axis=0)
    probes = particles + 10 * spread * rng.standard_normal(particles.shape)
    return initial if np.isfinite(initial.log_prob(probes)).all() else fit_initial(particles)


def _is_frozen(candidate: object) -> bool:
    return hasattr(candidate, "rvs") and hasattr(candidate, "logpdf")


def _from_frozen(frozen: Any) -> Initial:
    try:
        draw = np.asarray(frozen.rvs(size=3, random_state=np.random.default_rng(0)), dtype=np.float64)
    except ValueError:
        raise TypeError(
            "expected a scipy.stats distribution with numbers as parameters; for independent parameters give a list, "
            "one distribution for each"
        ) from None
    if draw.ndim == 1 and np.shape(frozen.logpdf(draw)) == (3,):
        return ScipyIndependent((frozen,)) if hasattr(frozen, "cdf") else ScipyMultivariate(frozen, 1)
    if draw.ndim == 2:
        return ScipyMultivariate(frozen, draw.shape[1])
    raise TypeError(f"expected a scipy.stats distribution over vectors, got one with draws of shape {draw.shape[1:]}")


def _check_particles(initial: object) -> Array:
    expected = (
        "expected `initial` to be sb.Gaussian(...), a scipy.stats distribution, a list of them, or an (n, d) array"
    )
    if initial is None:
        raise ValueError(f"{expected}; got None, which needs finite bounds for every parameter")
    try:
        particles = np.array(initial, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise TypeError(f"{expected}; got {type(initial).__name__}") from None
    if particles.ndim != 2 or particles.shape[1] == 0:
        raise ValueError(f"{expected}; got an array of shape {particles.shape}")
    if len(particles) < 2:
        raise ValueError(f"expected at least 2 particles in `initial`, got {len(particles)}")
    bad_rows = np.flatnonzero(~np.isfinite(particles).all(axis=1))
    if bad_rows.size:
        raise ValueError(f"expected finite particles; rows {_first(bad_rows)} of `initial` hold NaN or inf")
    return particles


def _first(rows: np.ndarray[Any, Any]) -> str:
    return ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
