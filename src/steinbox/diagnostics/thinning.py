"""Thinning: a few points that represent the target, chosen from many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.checks import require_count, require_number
from steinbox.diagnostics.black_box_weights import minimize_discrepancy
from steinbox.diagnostics.discrepancy import issue_warnings
from steinbox.diagnostics.inputs import Values
from steinbox.diagnostics.stein_sample import COORDINATES, KERNEL, Metric, SteinSample, make_stein_sample
from steinbox.maps.coordinates import Coordinates
from steinbox.numerics.bandwidth import Rule
from steinbox.numerics.herding import select
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.weights import effective_sample_size
from steinbox.surrogates.cross_validated import PassThrough

_MAX_GROUP = 1000  # points that are weighted together: the time grows as the cube
# both bounds were chosen on seeds 0 to 4 of the problems in benchmarks/thinning.py, which reports on others
_MIN_SIZE_FRACTION = 0.3  # of the points: weights worth fewer chose worse points than chance does
_MIN_AGREEMENT = 0.8  # of that size, left by surrogates that do not know the point they judge


def thin(
    points: npt.ArrayLike,
    log_prob: Values | None,
    num_points: int,
    *,
    regularization: float = 0.1,
    score: Values | None = None,
    surrogate: object | None = None,
    kernel: Kernel = KERNEL,
    bandwidth: float | str | Rule = "median",
    coordinates: Coordinates = COORDINATES,
) -> IntegerArray:
    r"""Choose a few points that represent the target: weighted by Stein's identity, then chosen by herding.

    The points get the weights of :func:`black_box_weights`, which turn a biased sample into one of the target and
    leave a good one nearly as it is. From the weighted points those are chosen which, equally weighted, are closest to
    them all (:func:`select`). More than 1,000 points are weighted in groups, every k-th point in one.

    Weights must earn their use; otherwise the points are thinned as they are, and a warning says so. (1) Their
    effective sample size must be at least 0.3 of the different points. If it is less, these miss much of the
    target, and the few that lie on it are no sample of it: on a ring, they may be one arc. (2) Without a score, log p
    must have been learned: with the weights ρ/p of surrogates that do not know the point they judge
    (:class:`~steinbox.surrogates.LeaveOneOut`), 0.8 of that size must be left.

    Stein thinning (:func:`stein_thin`) does both in one step. It is made for points far from the target, and spoils
    good ones where the target is curved or has separated modes.

    Parameters
    ----------
    points : (n, d) array_like
        Any points, also from elsewhere than the target, such as a burn-in.
    log_prob : (n,) array_like or function, or None
        As for :func:`gf_ksd`. Points where it is −inf are never chosen. May be None if ``score`` is given.
    num_points : int
        The m, at most n. A point may be chosen more than once, if its weight calls for it.
    regularization : float
        As for :func:`black_box_weights`, in which it is smaller: the larger, the closer the shares of separated modes
        stay to those of the points, and the less a biased sample is corrected.
    surrogate : optional
        As for :func:`black_box_weights`.
    score, kernel, bandwidth, coordinates
        As for :func:`goodness_of_fit`. The density must fall to zero at the edge of its support, if it has one.

    Returns
    -------
    (m,) array of int
        Indices: ``points[thin(points, log_prob, 20)]`` are twenty good ones.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(1.0, 2.0, size=(500, 1))  # not from the target, N(0, 1)
    >>> chosen = points[thin(points, -0.5 * (points**2).sum(axis=1), 50)]
    >>> bool(abs(chosen.mean()) < 0.1 and abs(chosen.std() - 1) < 0.1)
    True
    """
    require_number("regularization", regularization)
    sample = make_stein_sample(points, log_prob, score=score, surrogate=surrogate, default=PassThrough())
    require_fewer(num_points, len(sample.points))
    issue_warnings(sample.warnings)
    metric = Metric(kernel, bandwidth, coordinates)
    weights = _weigh_in_groups(sample, metric, regularization)
    objection = _object(weights, sample, is_learned=score is None and surrogate is None)
    if objection:
        issue_warnings([f"{objection} The points are thinned as they are: if they are biased, so are those chosen."])
        weights = sample.sample_weights
    values = None if log_prob is None else sample.log_prob
    return np.asarray(sample.indices[select(sample.points, weights, num_points, log_prob=values)])


def require_fewer(num_points: int, num_inside: int) -> None:
    """Refuse a number of points that is none, or more than there are."""
    require_count("num_points", num_points)
    if num_points > num_inside:
        raise ValueError(f"expected num_points of at most the {num_inside} inside the support, got {num_points}")


def _weigh_in_groups(sample: SteinSample, metric: Metric, regularization: float) -> Array:
    """Weights that minimize the discrepancy of each group; the groups count by their sizes."""
    stein, weights = metric.stein_kernel(sample), np.zeros(len(sample.points))
    num_groups = -(-len(weights) // _MAX_GROUP)
    for start in range(num_groups):
        group = slice(start, None, num_groups)
        matrix, used = stein.block(group, group), np.flatnonzero(sample.weights[group] > 0)
        members = np.arange(len(weights))[group][used]
        if used.size:  # a point of weight zero would cost nothing
            weights[members] = len(members) * minimize_discrepancy(matrix[np.ix_(used, used)], regularization)
    return np.asarray(weights / weights.sum())


def _object(weights: Array, sample: SteinSample, *, is_learned: bool) -> str | None:
    """Why the weights should not be used, if there is a reason. Copies of a point count as one."""
    place = np.unique(sample.points, axis=0, return_inverse=True)[1].reshape(-1)
    size, num_points = _size_of_places(weights, place), int(place.max()) + 1
    if is_learned:
        held_out = make_stein_sample(sample.points, sample.log_prob).weights
        if _size_of_places(weights * held_out, place) < _MIN_AGREEMENT * size:
            return (
                "The log-density is too rough to be learned from its values at the points, and weights from them would "
                "be wrong; more points or the score would help."
            )
    if size < _MIN_SIZE_FRACTION * num_points:
        return (
            f"Weights to the target have an effective sample size of {size:.1f} of {num_points} points: "
            "these cover too little of it to be weighted."
        )
    return None


def _size_of_places(weights: Array, place: IntegerArray) -> float:
    """The effective sample size of weights that are summed over the copies of each point; zero if all are zero."""
    total = np.zeros(int(place.max()) + 1)
    np.add.at(total, place, weights)
    return effective_sample_size(total) if total.any() else 0.0
