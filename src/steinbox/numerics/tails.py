r"""How well the tails of weighted points are covered.

A tail that proposals hardly reach, the neck of a funnel or the end of a curve, rests on few points of large weight, and
what lies beyond them has not been seen. Neither the effective sample size nor the Pareto shape of all weights shows it,
since most of the weight is elsewhere. The effective sample size of the tail does (for Markov chains: Vehtari et al.,
2021, "Rank-normalization, folding, and localization").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.numerics.weights import effective_sample_size

TAIL_SHARE = 0.05  # of the weight, at either end of a direction
_MIN_RATIO = 1 / 3  # of a tail's effective sample size to what is usual: below, its end may not have been reached
_MIN_USUAL = 5.0  # independent draws: with fewer nothing can be said


@dataclass(frozen=True)
class Tail:
    r"""The points that hold the last 5% of the weight in one direction.

    Attributes
    ----------
    axis : int or None
        Which coordinate; None for a principal axis of the correlations.
    is_upper : bool
        Which end of it; a principal axis has no sign.
    num_draws : float
        Their effective sample size.
    usual : float
        What it is if weights are as even there as everywhere: 5% of the effective sample size of all.
    rows : array of int
        Which points they are.
    direction : array
        Points are farther out in it the larger (smaller at the lower end) their product with it is.
    """

    axis: int | None
    is_upper: bool
    num_draws: float
    usual: float
    rows: IntegerArray
    direction: Array

    @property
    def ratio(self) -> float:
        """Of both sizes: about one where nothing is wrong."""
        return self.num_draws / self.usual

    @property
    def is_thin(self) -> bool:
        """Whether the end of the tail may not have been reached."""
        return self.usual >= _MIN_USUAL and self.ratio < _MIN_RATIO


def find_thinnest_tail(points: Array, weights: Array) -> Tail:
    r"""The tail that is worth least, of both ends of every coordinate and of every principal axis.

    Parameters
    ----------
    points : (n, d) array
    weights : (n,) array
        They sum to one.

    Examples
    --------
    Draws of a normal distribution that was cut off, but for a few, weighted to represent all of it:

    >>> import numpy as np
    >>> points = np.random.default_rng(0).standard_normal((10_000, 2))
    >>> is_kept = (points[:, 1] < 1.5) | (np.arange(10_000) < 200)
    >>> weights = np.where(points[:, 1] < 1.5, 1.0, 50.0)[is_kept]
    >>> tail = find_thinnest_tail(points[is_kept], weights / weights.sum())
    >>> tail.axis, tail.is_upper, tail.is_thin
    (1, True, True)
    """
    carries = np.flatnonzero(weights > 0)
    points, weights = points[carries], weights[carries]
    mean = weights @ points
    std = np.sqrt(np.maximum(weights @ (points - mean) ** 2, np.finfo(np.float64).tiny))
    z = (points - mean) / std
    axes = np.linalg.eigh((weights[:, None] * z).T @ z)[1]
    usual = TAIL_SHARE * effective_sample_size(weights)
    directions = np.vstack([np.eye(z.shape[1]), axes.T]) / std
    tails = [
        _tail(values, weights, usual, direction, None if k >= z.shape[1] else k, is_upper=is_upper)
        for k, (values, direction) in enumerate(zip(np.hstack([z, z @ axes]).T, directions, strict=True))
        for is_upper in (False, True)
    ]
    thinnest = min(tails, key=lambda tail: tail.num_draws)
    return replace(thinnest, rows=carries[thinnest.rows])


def _tail(values: Array, weights: Array, usual: float, direction: Array, axis: int | None, *, is_upper: bool) -> Tail:
    order = np.argsort(-values if is_upper else values)
    last = int(np.searchsorted(np.cumsum(weights[order]), TAIL_SHARE))
    rows = order[: last + 1]
    return Tail(axis, is_upper, effective_sample_size(weights[rows]), usual, rows, direction)
