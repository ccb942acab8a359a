"""What moves the particles, and where to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.diagnostics.spread import mean_spread
from steinbox.maps.coordinates import Affine
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise import matrix_stein_sums
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.samplers.stein.direction import Direction
from steinbox.surrogates.base import Surrogate
from steinbox.surrogates.weight_fields import MatrixWeights

_MIN_SIZE_FRACTION = 0.5  # of the particles: weights with a smaller effective sample size say little about the spread
_MAX_MISSED = 0.1  # share of the variance of log p that a surrogate did not predict: fewer moves by the next one
_MIN_MISSED = 0.02  # and more


@dataclass(frozen=True, eq=False)
class FlatPart:
    r"""The log-weights :math:`-\log p` of the surrogate :math:`\rho = 1`, and its share; none if it is to be chosen."""

    log_weights: Array
    share: float | None


@dataclass(frozen=True, eq=False)
class Lasting:
    """A surrogate that equals the target, as far as is known, and how many moves may be made by it."""

    surrogate: Surrogate
    max_moves: int


@dataclass(frozen=True, eq=False)
class Force:
    """Scores, log-weights, the factor of the repulsion, and what else there may be.

    ``matrices`` are matrix-valued weights. If ``weighted_steps``, the step of a particle is multiplied by its own
    weight, whose mean is one, as in Theorem 2. ``flat`` is blended in. ``lasting`` is a surrogate that still holds
    where the particles go next.
    """

    score: Array
    log_weights: Array
    repulsion: float = 1.0
    matrices: MatrixWeights | None = None
    weighted_steps: bool = False
    flat: FlatPart | None = None
    lasting: Lasting | None = None


def choose_num_moves(num_moves: int, missed_share: float, lasting: Lasting | None) -> int:
    """How many moves to make by one surrogate, as a trust region has its radius: by how well the last one predicted.

    Parameters
    ----------
    num_moves : int
        Those by the last one.
    missed_share : float
        The share of the variance of log p that it missed where they led.
    lasting : Lasting or None
        The surrogate, if it lasts.

    Examples
    --------
    >>> choose_num_moves(4, 0.5, Lasting(None, 5)), choose_num_moves(4, 0.05, Lasting(None, 5))
    (2, 4)
    >>> choose_num_moves(4, 0.01, Lasting(None, 5))
    5
    """
    if lasting is None:
        return 1
    factor = 0.5 if missed_share > _MAX_MISSED else 2 if missed_share < _MIN_MISSED else 1
    return int(np.clip(factor * num_moves, 1, lasting.max_moves))


def find_direction(
    rule: Direction, force: Force, weights: Array, coordinates: Affine, z: Array, kernel: Kernel, bandwidth: float
) -> tuple[Array, float]:
    """The Stein direction in these coordinates, with the force's weights normalized; and the share of a flat one."""
    score = coordinates.push_score(force.score)
    if force.matrices is None:
        direction = rule(z, score, weights, kernel, bandwidth, force.repulsion)
    else:
        field = force.matrices.push(coordinates.inverse_root)
        drift = np.where(weights[:, None] > 0, field.drift(score), 0.0)
        direction = matrix_stein_sums(z, drift, field.matrices, weights, kernel, bandwidth)
    if force.weighted_steps:
        direction = direction * weights[:, None] * len(weights)
    if force.flat is None:
        return direction, 0.0
    flat = rule(z, np.zeros_like(z), normalize(force.flat.log_weights), kernel, bandwidth)
    share = force.flat.share
    if share is None:
        can_tell = effective_sample_size(weights) > _MIN_SIZE_FRACTION * len(weights)
        share = calibrate_share(z, direction, flat, mean_spread(z, weights, score)[0]) if can_tell else 0.0
    return (1 - share) * direction + share * flat, share


def calibrate_share(z: Array, direction: Array, flat: Array, spread: float) -> float:
    r"""The share :math:`\lambda` with which the particles' spread becomes right.

    A direction that widens the particles has a positive :math:`r(\phi) = \sum_i (z_i - \bar z)^\top \phi(z_i)`. The
    flat surrogate widens them too far, the other one not enough. By Stein's identity :math:`\tau`
    (:mod:`steinbox.diagnostics.spread`) should be one, so that :math:`\lambda` between 0 and 1 solves

    .. math:: (1 - \lambda)\, r(\phi) + \lambda\, r(\phi_1) = (1 - \tau) \max(|r(\phi)|, |r(\phi_1)|).

    It rests where the spread is right.

    Examples
    --------
    >>> z = np.array([[-1.0], [1.0]])
    >>> calibrate_share(z, -z, 3 * z, spread=1.0)  # no widening: three parts that narrow, one that widens
    0.25
    >>> calibrate_share(z, -z, 3 * z, spread=0.5)
    0.625
    """
    centered = z - z.mean(axis=0)
    narrow, wide = float(np.sum(centered * direction)), float(np.sum(centered * flat))
    if wide == narrow:
        return 0.0
    wanted = (1 - spread) * max(abs(narrow), abs(wide))
    return float(np.clip((wanted - narrow) / (wide - narrow), 0.0, 1.0))
