"""Black-box importance sampling: weights that turn any points into a sample of the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array
from steinbox.common.checks import require_number
from steinbox.diagnostics.discrepancy import issue_warnings
from steinbox.diagnostics.inputs import Values
from steinbox.diagnostics.stein_sample import COORDINATES, KERNEL, Metric, make_stein_sample
from steinbox.maps.coordinates import Coordinates
from steinbox.numerics.bandwidth import Rule
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.weights import effective_sample_size
from steinbox.surrogates.cross_validated import PassThrough

_RIDGE = 1e-10  # on a unit diagonal, so that the Cholesky factor exists
_MAX_STEPS_PER_POINT = 30  # of the active-set method


@dataclass(frozen=True, eq=False)
class BlackBoxWeights:
    r"""Weights, with a bound on how far they are from the best.

    Attributes
    ----------
    weights : (n,) array
        At least zero; they sum to one.
    discrepancy : float
        The Stein discrepancy of the points with these weights, as :func:`gf_ksd` and :func:`ksd` measure it.
    duality_gap : float
        The objective exceeds its minimum by at most this much.
    effective_sample_size : float
        Kish's, of these weights.
    """

    weights: Array
    discrepancy: float
    duality_gap: float
    effective_sample_size: float


def black_box_weights(
    points: npt.ArrayLike,
    log_prob: Values | None = None,
    *,
    score: Values | None = None,
    surrogate: object | None = None,
    regularization: float = 1e-3,
    kernel: Kernel = KERNEL,
    bandwidth: float | str | Rule = "median",
    coordinates: Coordinates = COORDINATES,
) -> BlackBoxWeights:
    r"""Weights on the points that minimize their (gradient-free) Stein discrepancy from the target,

    .. math:: \min_v\ v^\top (H + \lambda I)\, v \quad \text{subject to} \quad v \ge 0,\ \textstyle\sum_i v_i = 1,
              \qquad H_{ij} = w_i w_j \kappa(x_i, x_j)

    (Liu & Lee, 2017, have :math:`\lambda = 0`). The points may come from anywhere. :math:`H` hardly
    determines the shares of separated modes; a small :math:`\lambda`, which favors equal weights, keeps them near the
    shares of the points. The density must fall to zero at the edge of its support, if it
    has one.

    The solution is proportional to that of :math:`\min_{u \ge 0} \tfrac12 u^\top M u - \sum_i u_i` with
    :math:`M = H + \lambda I`, a problem of non-negative least squares with a factor of M, which SciPy's active-set
    method solves. For any v on the simplex the smallest value is at least :math:`2 \min_i (Mv)_i - v^\top M v`: the
    difference is the duality gap.

    Parameters
    ----------
    points : (n, d) array_like
        Memory grows as n², time as n³: a few thousand points at most.
    log_prob : (n,) array_like or function, or None
        As for :func:`goodness_of_fit`. Points where it is −inf get no weight.
    regularization : float
        The :math:`\lambda`, in units of the median of the diagonal of H.
    surrogate : optional
        As for :func:`gf_ksd`, but if not given, an interpolant of all values,
        :class:`~steinbox.surrogates.PassThrough`. One of your own should follow the target closely: a point where
        :math:`\rho/p` is near zero costs nothing, and would be chosen first.
    score, kernel, bandwidth, coordinates
        As for :func:`goodness_of_fit`.

    Returns
    -------
    BlackBoxWeights

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(0.5, 1.5, size=(200, 1))  # the target is N(0, 1)
    >>> best = black_box_weights(points, -0.5 * (points**2).sum(axis=1))
    >>> mean = best.weights @ points[:, 0]
    >>> variance = best.weights @ points[:, 0] ** 2 - mean**2
    >>> bool(abs(mean) < 0.02 and abs(variance - 1) < 0.05 and best.duality_gap < 1e-6)
    True
    """
    require_number("regularization", regularization)
    sample = make_stein_sample(points, log_prob, score=score, surrogate=surrogate, default=PassThrough())
    issue_warnings(sample.warnings)
    used = np.flatnonzero(sample.weights > 0)  # a point of weight zero would cost nothing
    matrix = Metric(kernel, bandwidth, coordinates).stein_kernel(sample).matrix()[np.ix_(used, used)]
    ratio = len(sample.points) * sample.weights[used]  # ρ/p, with a mean of one
    matrix *= len(sample.points) ** 2
    best = minimize_discrepancy(matrix, regularization)
    gradient = regularize(matrix, regularization) @ best
    weights = np.zeros(len(np.asarray(points)))
    weights[sample.indices[used]] = best
    return BlackBoxWeights(
        weights=weights,
        discrepancy=float(np.sqrt(max(float(best @ matrix @ best), 0.0)) / (best @ ratio)),
        duality_gap=float(2 * (best @ gradient - gradient.min())),
        effective_sample_size=effective_sample_size(weights),
    )


def regularize(matrix: Array, regularization: float) -> Array:
    """The matrix H + λ I, with λ in units of the median of the diagonal."""
    return np.asarray(matrix + regularization * np.median(np.diag(matrix)) * np.eye(len(matrix)))


def minimize_discrepancy(matrix: Array, regularization: float) -> Array:
    """Weights on the simplex: non-negative least squares with a factor of H + λ I, scaled to a unit diagonal."""
    from scipy.optimize import nnls  # slow to import: it would double the time that `import steinbox` takes

    matrix = regularize(matrix, regularization)
    scales = 1 / np.sqrt(np.diag(matrix))
    factor = np.linalg.cholesky(scales[:, None] * matrix * scales + _RIDGE * np.eye(len(matrix)))
    solution = scales * nnls(factor.T, np.linalg.solve(factor, scales), maxiter=_MAX_STEPS_PER_POINT * len(matrix))[0]
    return np.asarray(solution / solution.sum())
