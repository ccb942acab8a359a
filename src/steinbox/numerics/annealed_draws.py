r"""Draws of a log-density that costs next to nothing, such as a surrogate's.

Sequential Monte Carlo (Del Moral, Doucet & Jasra, 2006) on the path :math:`g^{1-t} p^t` from a round Gaussian g: draws
are weighted by :math:`(p/g)^{\Delta t}`, with the largest step that leaves them an effective sample size, resampled,
and moved by differences of others (differential evolution; ter Braak, 2006), one half by those of the other half. The
mean weights multiply to an estimate of :math:`\int p`.

References
----------
P. Del Moral, A. Doucet & A. Jasra (2006). Sequential Monte Carlo samplers. *JRSS B* 68, 411–436.
C. J. F. ter Braak (2006). A Markov chain Monte Carlo version of the genetic algorithm differential evolution.
*Statistics and Computing* 16, 239–249.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.numerics.weights import log_sum_exp, normalize, systematic_resample, temper

_MIN_SIZE = 0.3  # of the draws: the effective sample size that a step leaves them
_MIN_GROWTH = 0.5  # of t: a step is at least that, so that there are at most 30
_FIRST_STEP = 1e-5
_NUM_MOVES = 4  # after each step but the last
_JUMP_SHARE = 0.15  # of the moves: by a whole difference, from mode to mode
_JITTER = 1e-3  # standard deviation that is added to a move

LogProb = Callable[[Array], Array]


def annealed_draws(
    log_prob: LogProb, dimension: int, std: float, num_draws: int, rng: np.random.Generator, num_last_moves: int = 8
) -> tuple[Array, float]:
    """Draws (n, d) of an unnormalized log-density, and the logarithm of its integral.

    Parameters
    ----------
    log_prob : callable
        From points (m, d) to (m,); −inf where there is nothing.
    dimension : int
    std : float
        Of the Gaussian around the origin that the path begins with; err on the wide side.
    num_draws : int
    rng : Generator
    num_last_moves : int
        After the last step: bent densities need some tens for draws that are as good as independent ones.

    Examples
    --------
    >>> import numpy as np
    >>> draws, log_evidence = annealed_draws(
    ...     lambda x: -2 * ((x - 1) ** 2).sum(axis=1), 2, 2.0, 1000, np.random.default_rng(0)
    ... )
    >>> bool(np.abs(draws.mean(axis=0) - 1).max() < 0.1), bool(abs(log_evidence - np.log(np.pi / 2)) < 0.1)
    (True, True)
    """
    path = _Path(log_prob, dimension, std, num_draws, rng)
    while path.power < 1:
        path.step()
        path.move(_NUM_MOVES if path.power < 1 else num_last_moves)
    return path.points, path.log_evidence


class _Path:
    """The draws on their way, with both log-densities."""

    def __init__(self, log_prob: LogProb, dimension: int, std: float, num_draws: int, rng: np.random.Generator) -> None:
        self._log_prob, self._std, self._rng = log_prob, std, rng
        self.points = std * rng.standard_normal((num_draws, dimension))
        self._start, self._target = self._log_probs(self.points)
        self.power, self.log_evidence = 0.0, 0.0

    def _log_probs(self, points: Array) -> tuple[Array, Array]:
        normalizer = points.shape[1] * np.log(self._std * np.sqrt(2 * np.pi))
        return -0.5 * (points**2).sum(axis=1) / self._std**2 - normalizer, np.maximum(self._log_prob(points), -1e300)

    def step(self) -> None:
        """Onwards, weighted and resampled."""
        ratio, left, number = self._target - self._start, 1 - self.power, len(self.points)
        wanted = temper(ratio, _MIN_SIZE * number, left)
        size = min(max(wanted, _MIN_GROWTH * self.power, _FIRST_STEP), left)
        self.power = 1.0 if size == left else self.power + size
        self.log_evidence += float(log_sum_exp(size * ratio) - np.log(number))
        rows = self._rng.permutation(systematic_resample(normalize(size * ratio), number, self._rng))
        self.points, self._start, self._target = self.points[rows], self._start[rows], self._target[rows]

    def move(self, num_moves: int) -> None:
        """Each half in turn, by differences of the other."""
        for _ in range(num_moves):
            first, second = np.array_split(self._rng.permutation(len(self.points)), 2)
            for mine, others in ((first, second), (second, first)):
                self._move(mine, others)

    def _move(self, mine: IntegerArray, others: IntegerArray) -> None:
        rng, dimension = self._rng, self.points.shape[1]
        pairs = others[rng.integers(len(others), size=(2, len(mine)))]
        is_jump = rng.random() < _JUMP_SHARE
        factor = 1.0 if is_jump else rng.uniform(0.4, 1.1) * 2.38 / np.sqrt(2 * dimension)
        moved = self.points[mine] + factor * (self.points[pairs[0]] - self.points[pairs[1]])
        moved += _JITTER * rng.standard_normal(moved.shape)
        start, target = self._log_probs(moved)
        rise = self.power * (target - self._target[mine]) + (1 - self.power) * (start - self._start[mine])
        accepted = np.log(rng.random(len(mine))) < rise
        rows = mine[accepted]
        self.points[rows], self._start[rows], self._target[rows] = moved[accepted], start[accepted], target[accepted]
