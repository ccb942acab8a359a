"""Initial distributions on bounded parameters, as distributions of the free ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.initial import Initial
from steinbox.transforms import Between, Bounds, Periodic
from steinbox.types import Array

_MOST_ROUNDS = 200


@dataclass(frozen=True)
class FreeInitial:
    """A distribution of the user's parameters, cut off at their bounds, as one of the free parameters."""

    initial: Initial
    bounds: Bounds

    @property
    def dimension(self) -> int:
        """The number of free parameters."""
        return sum(parameter.num_free for parameter in self.bounds.parameters)

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        """Draws inside the bounds; others are drawn anew."""
        found: list[Array] = []
        for _ in range(_MOST_ROUNDS):
            draws = self.initial.sample(num_points, rng)
            found.append(draws[self.bounds.inside(draws)])
            if sum(map(len, found)) >= num_points:
                return self.bounds.to_free(np.concatenate(found)[:num_points], rng)
        raise ValueError(
            f"only {sum(map(len, found))} of {_MOST_ROUNDS * num_points} draws of `initial` lie inside the bounds; "
            "choose an `initial` that overlaps them more"
        )

    def log_prob(self, x: Array) -> Array:
        return np.asarray(self.initial.log_prob(self.bounds.to_user(x)) + self.bounds.log_volume(x))

    def score(self, x: Array) -> Array:
        return self.bounds.free_score(self.initial.score(self.bounds.to_user(x)), x)


@dataclass(frozen=True)
class Uniform:
    """The same density everywhere between the bounds: the initial distribution if none was given."""

    bounds: Bounds

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return len(self.bounds.parameters)

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        ends = [(each.low, each.high) for each in self.bounds.parameters if isinstance(each, Between | Periodic)]
        if len(ends) < self.dimension:
            raise ValueError("expected `initial`, since not all bounds are finite")
        low, high = np.array(ends).T
        return rng.uniform(low, high, size=(num_points, self.dimension))

    def log_prob(self, x: Array) -> Array:
        return np.zeros(len(x))

    def score(self, x: Array) -> Array:
        return np.zeros_like(x)


def free_particles(particles: Array, bounds: Bounds, rng: np.random.Generator) -> Array:
    """The user's particles as free points; all must lie inside the bounds."""
    outside = np.flatnonzero(~bounds.inside(particles))
    if outside.size:
        row = int(outside[0])
        raise ValueError(
            f"expected particles inside the bounds; {outside.size} rows of `initial` are not, the first is row {row}: "
            f"{particles[row].tolist()}"
        )
    return bounds.to_free(particles, rng)
