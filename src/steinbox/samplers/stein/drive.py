r"""What drives the particles: the target's own score, or the score of a surrogate with importance weights.

Both are the same update, :math:`\sum_j w_j [s_j k(x_j, x_i) + c \nabla_{x_j} k(x_j, x_i)]`, with another s, w and c.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array, IntegerArray, Mask
from steinbox.maps.coordinates import Whitened
from steinbox.numerics.pairwise import squared_distances
from steinbox.samplers.base import StalledError
from steinbox.samplers.stein.force import FlatPart, Force, Lasting
from steinbox.surrogates.base import Builder, evaluate
from steinbox.surrogates.interpolant import Interpolant
from steinbox.surrogates.smoother import Smoother
from steinbox.surrogates.weight_fields import WeightField

MAX_KNOWN_POINTS = 500  # of earlier runs, that a surrogate is trained with


@dataclass(frozen=True, eq=False)
class AnnealedValues:
    """What is known of the target of a move: at the particles first, then at points of the past and of earlier runs.

    ``log_target`` is −inf outside the support; where ``failed``, nothing is known. ``score``, of the particles, is
    there if the evaluations brought it; ``repulsion`` is the factor of the repulsive term that goes with it.
    """

    points: Array
    log_target: Array
    failed: Mask
    num_particles: int
    temperature: float
    score: Array | None
    repulsion: float

    @property
    def particles(self) -> Array:
        """The particles alone."""
        return self.points[: self.num_particles]

    @property
    def log_target_at_particles(self) -> Array:
        """The values at the particles."""
        return self.log_target[: self.num_particles]


class Drive(ABC):
    """Turns values of the target into a force; immutable."""

    @property
    def num_history(self) -> int:
        """How many past iterations it looks at."""
        return 0

    @property
    def learns_from_values(self) -> bool:
        """Whether values at points other than the particles are of use."""
        return False

    @abstractmethod
    def force(self, values: AnnealedValues) -> Force:
        """The force of this move."""


@dataclass(frozen=True)
class TargetScore(Drive):
    r"""The target's own score; or that of the surrogate :math:`\rho = p^\beta`, with the weights :math:`p^{\beta-1}`.

    With :math:`\beta = 1` all particles inside the support are equally weighted.
    """

    exponent: float = 1.0

    def force(self, values: AnnealedValues) -> Force:
        if values.score is None:
            raise ValueError("this method needs the target's score; the evaluation has none")
        log_target = values.log_target_at_particles
        inside = np.isfinite(log_target)
        log_weights = np.where(inside, (self.exponent - 1) * np.where(inside, log_target, 0.0), -np.inf)
        return Force(self.exponent * values.score, log_weights, values.repulsion)


@dataclass(frozen=True)
class SurrogateScore(Drive):
    r"""The score of a surrogate :math:`\rho` built from the values, with the weights :math:`w = \rho / p`.

    If the values are noisy, an interpolant smooths instead, and all weights are one: :math:`\rho` knows p better than a
    single value does.
    """

    builder: Builder
    noise: float | bool = False
    weight: WeightField | None = None
    weighted_steps: bool = False

    @property
    def num_history(self) -> int:
        return self.builder_at(1.0).num_history

    @property
    def learns_from_values(self) -> bool:
        return True

    def builder_at(self, temperature: float) -> Builder:
        """What builds the surrogate: on a path, the noise has its share of the temperature."""
        if self.noise is False or not isinstance(self.builder, Interpolant):
            return self.builder
        return Smoother(noise=None if self.noise is True else self.noise * temperature, kernel=self.builder.kernel)

    def force(self, values: AnnealedValues) -> Force:
        require_two(np.isfinite(values.log_target_at_particles))
        builder, trained = self.builder_at(values.temperature), ~values.failed
        num_current = int(trained[: values.num_particles].sum())
        surrogate = builder.build(values.points[trained], values.log_target[trained], num_current)
        log_surrogate, score = evaluate(surrogate, values.particles)
        log_weights = log_importance_weights(log_surrogate, values.log_target_at_particles)
        if isinstance(builder, Smoother):
            log_weights = np.where(np.isfinite(log_weights), 0.0, -np.inf)
        matrices = None if self.weight is None else self.weight.evaluate(values.particles, surrogate)
        lasting = None  # matrices and weighted steps need values where the particles are
        if isinstance(builder, Interpolant) and self.weight is None and not self.weighted_steps:
            lasting = Lasting(surrogate, builder.max_moves)
        return Force(score, log_weights, matrices=matrices, weighted_steps=self.weighted_steps, lasting=lasting)


@dataclass(frozen=True)
class WithFlatPart(Drive):
    r"""Another drive, blended with the surrogate :math:`\rho = 1`: Section 5.1 of the paper suggests it.

    The direction is :math:`(1 - \lambda) \phi + \lambda \phi_{\rho=1}`. Both vanish at the target; with few particles
    the first has too small a variance, and the second too large a one.
    """

    drive: Drive
    share: float | None

    @property
    def num_history(self) -> int:
        return self.drive.num_history

    @property
    def learns_from_values(self) -> bool:
        return self.drive.learns_from_values

    def force(self, values: AnnealedValues) -> Force:
        log_target = values.log_target_at_particles
        log_weights = log_importance_weights(np.zeros(len(log_target)), log_target)
        return replace(self.drive.force(values), flat=FlatPart(log_weights, self.share), lasting=None)


def with_flat_part(drive: Drive, share: float | None) -> Drive:
    """The drive itself, if there is nothing to blend."""
    return drive if share == 0 else WithFlatPart(drive, share)


def log_importance_weights(log_surrogate: Array, log_target: Array) -> Array:
    r"""The logarithms of :math:`w = \rho / p`, −inf where p is zero or unknown: such a particle pushes nobody."""
    inside = np.isfinite(log_target) & np.isfinite(log_surrogate)
    return np.where(inside, log_surrogate - np.where(inside, log_target, 0.0), -np.inf)


def require_two(usable: Mask) -> None:
    """Stop where fewer than two particles can push: one alone has no spread, and nobody to be pushed by."""
    if usable.sum() < 2:
        raise StalledError(
            f"{usable.sum()} of {len(usable)} particles have a finite log-density and weight; at least 2 are needed. "
            "Choose an `initial` that overlaps the target more."
        )


def nearest_rows(known: Array, points: Array) -> IntegerArray:
    """The known points that are closest to any particle, in whitened coordinates; at most 500."""
    if len(known) <= MAX_KNOWN_POINTS:
        return np.arange(len(known))
    coordinates = Whitened().fit(points)
    distances = squared_distances(coordinates.forward(known), coordinates.forward(points)).min(axis=1)
    return np.sort(np.argpartition(distances, MAX_KNOWN_POINTS)[:MAX_KNOWN_POINTS])
