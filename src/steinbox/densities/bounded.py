"""Initial distributions of bounded parameters, as distributions of the free ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import scipy

from steinbox.common.arrays import Array, RNGLike
from steinbox.densities.initial import Initial
from steinbox.maps.bounds import Between, Bounds, Periodic

_NUM_DRAWS_FOR_SHARE = 20_000  # to count how many lie inside the bounds
_MAX_ROUNDS = 200  # of rejection: each draws as many points as are wanted
_MAX_WRAPPED = 3  # angles around which the initial distribution is wrapped exactly


@dataclass(frozen=True)
class FreeInitial:
    """A distribution of the user's parameters, cut off at their bounds, as one of the free parameters.

    It is what the bounds pull back, but no :class:`~steinbox.densities.pullback.Pullback`: an angle has two free
    numbers, so that dimensions differ and the way back needs a random radius.
    """

    initial: Initial
    bounds: Bounds

    @property
    def dimension(self) -> int:
        """The number of free parameters."""
        return self.bounds.num_free

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Draws inside the bounds; others are drawn anew."""
        rng = np.random.default_rng(rng)
        found: list[Array] = []
        for _ in range(_MAX_ROUNDS):
            draws = self.initial.sample(num_points, rng)
            found.append(draws[self.bounds.inside(draws)])
            if sum(map(len, found)) >= num_points:
                return self.bounds.inverse(np.concatenate(found)[:num_points], rng)
        raise ValueError(
            f"only {sum(map(len, found))} of {_MAX_ROUNDS * num_points} draws of `initial` lie inside the bounds; "
            "choose an `initial` that overlaps them more"
        )

    def log_prob(self, points: Array) -> Array:
        log_terms = np.array([self.initial.log_prob(shifted) for shifted in self._wraps(self.bounds.forward(points))])
        return np.asarray(
            scipy.special.logsumexp(log_terms, axis=0) + self.bounds.log_det(points) - self._log_share_inside
        )

    def score(self, points: Array) -> Array:
        wraps = self._wraps(self.bounds.forward(points))
        log_terms = np.array([self.initial.log_prob(shifted) for shifted in wraps])
        scores = np.array([self.initial.score(shifted) for shifted in wraps])
        shares = np.exp(log_terms - scipy.special.logsumexp(log_terms, axis=0))
        return self.bounds.pull_back_score(points, np.einsum("kn,knd->nd", shares, scores))

    def _wraps(self, points: Array) -> list[Array]:
        """The points with angles as near as can be to the middle of the distribution, and a turn further and back."""
        widths = [each.high - each.low if isinstance(each, Periodic) else 0.0 for each in self.bounds.parameters]
        angles = [k for k, width in enumerate(widths) if width]
        near = points.copy()
        for k in angles:
            near[:, k] += widths[k] * np.round((self._middle[k] - points[:, k]) / widths[k])
        shifted = angles[:_MAX_WRAPPED]
        wraps = np.zeros((3 ** len(shifted), len(widths)))
        wraps[:, shifted] = np.array(list(product((-1, 0, 1), repeat=len(shifted)))).reshape(len(wraps), -1)
        return [near + turn * widths for turn in wraps]

    @cached_property
    def _log_share_inside(self) -> float:
        """The logarithm of the part of the distribution that the bounds leave, by counting draws."""
        draws = self.initial.sample(_NUM_DRAWS_FOR_SHARE, np.random.default_rng(0))
        return float(np.log(max(self.bounds.inside(draws).mean(), 1 / _NUM_DRAWS_FOR_SHARE)))

    @cached_property
    def _middle(self) -> Array:
        return np.asarray(np.median(self.initial.sample(1000, np.random.default_rng(0)), axis=0))


@dataclass(frozen=True)
class Uniform:
    """The same density everywhere between the bounds: the initial distribution if none was given."""

    bounds: Bounds

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return len(self.bounds.parameters)

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        rng = np.random.default_rng(rng)
        low, high = self._ends
        return rng.uniform(low, high, size=(num_points, self.dimension))

    def log_prob(self, points: Array) -> Array:
        low, high = self._ends
        inside = ((points >= low) & (points <= high)).all(axis=1)
        return np.where(inside, -np.log(high - low).sum(), -np.inf)

    def score(self, points: Array) -> Array:
        return np.zeros_like(points)

    @property
    def _ends(self) -> tuple[Array, Array]:
        ends = [(each.low, each.high) for each in self.bounds.parameters if isinstance(each, Between | Periodic)]
        if len(ends) < self.dimension:
            raise ValueError("expected `initial`, since not all bounds are finite")
        low, high = np.array(ends).T
        return low, high
