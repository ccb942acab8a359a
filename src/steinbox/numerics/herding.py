"""Equally weighted points that represent a weighted pool: kernel herding, then exchange."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.checks import require_count
from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import kernel_sums, median_squared_distance
from steinbox.numerics.pairwise.distances import positive_std
from steinbox.numerics.weights import systematic_resample

_POOL_MASS = 0.9995  # share of the weight that the pool holds
_MAX_CANDIDATES = 4000  # points to choose among
_MAX_PASSES = 8  # over all chosen points, in the exchange
_MAX_POINTS_TO_STANDARDIZE = 1000  # points whose mean and standard deviations standardize the coordinates
_LOG_PROB_SHARE = 0.1  # factor of the kernel of log-densities beside that of positions
_NUM_GRID_LEVELS = 400  # where the log-densities' embedding is computed: interpolation is exact to 1e-4
_MAX_LOG_PROB_DEVIATION = 6.0  # standard deviations; beyond, log-densities are clipped, or the grid would be coarse


def select(
    points: npt.ArrayLike,
    weights: npt.ArrayLike,
    num_points: int,
    *,
    log_prob: npt.ArrayLike | None = None,
    rng: int | np.random.Generator | None = 0,
) -> IntegerArray:
    r"""Choose points of a weighted pool which, equally weighted, are as close to it as possible.

    They minimize the maximum mean discrepancy to the pool: with the mean embedding
    :math:`\mu_i = \sum_j w_j k(x_i, x_j)`, the (t+1)-th point maximizes
    :math:`\mu_i - \tfrac{1}{t+1} \sum_{s \le t} k(x_i, x_{i_s})` (kernel herding; Chen, Welling & Smola, 2010), then
    each of them is exchanged for a better one until no exchange helps, in at most eight passes. The kernel is Gaussian
    with :math:`h = \text{med}^2` in standardized coordinates; with ``log_prob``, a tenth of a Gaussian kernel of the
    standardized log-density is added, without which the points would be more central than the pool.

    Parameters
    ----------
    points : (m, d) array_like
    weights : (m,) array_like
        Not negative; normalized here.
    num_points : int
        A point may be chosen more than once, if its weight calls for it.
    log_prob : (m,) array_like, optional
        The target's log-density at the points.
    rng : int, Generator or None, default 0
        Decides which points the coordinates are standardized by and, among more than 4,000, which are candidates.

    Returns
    -------
    (num_points,) array of int
        The indices of the points.

    Examples
    --------
    >>> import numpy as np
    >>> pool = np.random.default_rng(0).normal(0.0, 2.0, size=(2000, 1))
    >>> weights = np.exp(-0.5 * pool[:, 0] ** 2 + pool[:, 0] ** 2 / 8)  # to the target N(0, 1)
    >>> chosen = pool[select(pool, weights, 20)]
    >>> bool(abs(chosen.mean()) < 0.03 and abs(chosen.std() - 1) < 0.1)
    True
    """
    require_count("num_points", num_points)
    x, w = _check_pool(points, weights)
    rng = np.random.default_rng(rng)
    pool = heaviest(w)
    w = w[pool] / w[pool].sum()
    resampled = pool[systematic_resample(w, min(len(pool), _MAX_POINTS_TO_STANDARDIZE), rng)]
    is_one_point = np.allclose(x[resampled], x[resampled[0]], rtol=1e-14, atol=0.0)  # then it has no spread
    typical = x[pool if is_one_point else resampled]
    z = (x[pool] - typical.mean(axis=0)) / positive_std(typical)
    levels = None if log_prob is None else _standardize(np.asarray(log_prob, dtype=np.float64)[pool], w)
    candidates = np.arange(len(pool))
    if len(pool) > _MAX_CANDIDATES:
        candidates = np.unique(systematic_resample(w, _MAX_CANDIDATES, rng))
    embedding = _Embedding(z, w, levels, candidates)
    return np.asarray(pool[candidates[_exchange(embedding, _herd(embedding, num_points))]])


class _Embedding:
    """The pool's mean embedding at the candidates, and the kernel between candidates, a row at a time."""

    def __init__(self, z: Array, weights: Array, levels: Array | None, candidates: IntegerArray) -> None:
        different = np.unique(z[candidates], axis=0)
        self._bandwidth = (median_squared_distance(different) if len(different) > 1 else 0.0) or 1.0
        self._z = z[candidates]
        self._levels = None if levels is None else levels[candidates]
        self.mean = kernel_sums(self._z, z, weights, RBF(), self._bandwidth)
        if levels is not None and self._levels is not None:
            grid = np.linspace(levels.min(), levels.max(), _NUM_GRID_LEVELS)
            near = kernel_sums(grid[:, None], levels[:, None], weights, RBF(), 2.0)
            self.mean = self.mean + _LOG_PROB_SHARE * np.interp(self._levels, grid, near)
        self._z = (self._z - self._z.mean(axis=0)) / np.sqrt(self._bandwidth)
        self._norms = np.einsum("id,id->i", self._z, self._z)

    def row(self, index: int) -> Array:
        """The kernel between one candidate and all."""
        distances = self._norms + (self._norms[index] - 2 * (self._z @ self._z[index]))
        values = RBF().value(np.maximum(distances, 0.0))
        if self._levels is None:
            return values
        return np.asarray(values + _LOG_PROB_SHARE * RBF().value((self._levels[index] - self._levels) ** 2 / 2))


def _herd(embedding: _Embedding, num_points: int) -> IntegerArray:
    """Points one by one, each the best beside those before it."""
    chosen, total = np.empty(num_points, dtype=np.int64), np.zeros(len(embedding.mean))
    for number in range(num_points):
        chosen[number] = np.argmax(embedding.mean - total / (number + 1))
        total += embedding.row(chosen[number])
    return chosen


def _exchange(embedding: _Embedding, chosen: IntegerArray) -> IntegerArray:
    """Replace each point in turn by the best one beside the others, until nothing changes."""
    chosen, rows = chosen.copy(), np.array([embedding.row(index) for index in chosen])
    total = rows.sum(axis=0)
    for _ in range(_MAX_PASSES):
        before = chosen.copy()
        for place in range(len(chosen)):
            total -= rows[place]
            best = int(np.argmax(embedding.mean - total / len(chosen)))
            if best != chosen[place]:
                chosen[place], rows[place] = best, embedding.row(best)
            total += rows[place]
        if np.array_equal(before, chosen):
            break
    return chosen


def _check_pool(points: npt.ArrayLike, weights: npt.ArrayLike) -> tuple[Array, Array]:
    x, w = np.asarray(points, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if x.ndim != 2 or w.shape != x.shape[:1] or not np.isfinite(x).all():
        raise ValueError(f"select expects finite points (m, d) and weights (m,), got shapes {x.shape} and {w.shape}")
    if not (np.isfinite(w).all() and w.min(initial=0) >= 0 and w.sum() > 0):
        raise ValueError(
            "select expects finite weights, none of them negative and some of them positive, "
            f"got {w.min():.4g} to {w.max():.4g}"
        )
    return x, w / w.sum()


def heaviest(weights: Array) -> IntegerArray:
    """Indices of the fewest points that hold nearly all of the weight, in increasing order."""
    order = np.argsort(-weights, kind="stable")
    num_kept = int(np.searchsorted(np.cumsum(weights[order]), _POOL_MASS)) + 1
    return np.sort(order[:num_kept])


def _standardize(log_prob: Array, weights: Array) -> Array:
    centered = log_prob - weights @ log_prob
    levels = centered / np.sqrt(weights @ centered**2 + 1e-300)
    return np.clip(levels, -_MAX_LOG_PROB_DEVIATION, _MAX_LOG_PROB_DEVIATION)
