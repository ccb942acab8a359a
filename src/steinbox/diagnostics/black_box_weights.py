"""Black-box importance sampling: weights that make any points a sample of the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array
from steinbox.common.checks import require_number
from steinbox.diagnostics.discrepancy import warn
from steinbox.diagnostics.inputs import Values
from steinbox.diagnostics.stein_sample import COORDINATES, KERNEL, Metric, weigh
from steinbox.maps.coordinates import Coordinates
from steinbox.numerics.bandwidth import Rule
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.weights import effective_sample_size
from steinbox.surrogates.cross_validated import PassThrough

_RIDGE = 1e-10


@dataclass(frozen=True, eq=False)
class BlackBoxWeights:
    r"""Weights, and the proof that they are the best.

    Attributes
    ----------
    weights : (n,) array
        At least zero; they sum to one.
    discrepancy : float
        The Stein discrepancy of the points with these weights, as :func:`gf_ksd` and :func:`ksd` measure it.
    duality_gap : float
        By at most this much the objective exceeds the smallest that any weights have.
    effective_sample_size : float
        Of these weights.
    """

    weights: Array
    discrepancy: float
    duality_gap: float
    effective_sample_size: float


def black_box_weights(
    x: npt.ArrayLike,
    log_prob: Values | None = None,
    *,
    score: Values | None = None,
    surrogate: object | None = None,
    regularization: float = 1e-3,
    kernel: Kernel = KERNEL,
    bandwidth: float | str | Rule = "median",
    coordinates: Coordinates = COORDINATES,
) -> BlackBoxWeights:
    r"""Weights on the points that minimise their (gradient-free) Stein discrepancy from the target,

    .. math:: \min_v\ v^\top (H + \lambda I)\, v \quad \text{subject to} \quad v \ge 0,\ \textstyle\sum_i v_i = 1,
              \qquad H_{ij} = w_i w_j \kappa(x_i, x_j)

    (Liu & Lee, 2017, have :math:`\lambda = 0`). Nothing needs to be known about where the points come from. Hardly
    anything in :math:`H` holds the shares of separated modes; a little :math:`\lambda`, which asks for an even spread
    of the weights, keeps them near those of the points. The density must fall to zero at the edge of its support, if it
    has one.

    The solution is proportional to that of :math:`\min_{u \ge 0} \tfrac12 u^\top M u - \sum_i u_i` with
    :math:`M = H + \lambda I`, a problem of non-negative least squares with a factor of M, which SciPy's active-set
    method solves. For any v on the simplex the smallest value is at least :math:`2 \min_i (Mv)_i - v^\top M v`: the
    difference is the duality gap.

    Parameters
    ----------
    x : (n, d) array_like
        Memory grows as n², time as n³: a few thousand points at most.
    log_prob : (n,) array_like or function, or None
        As for :func:`goodness_of_fit`. Points where it is −inf get no weight.
    regularization : float
        The :math:`\lambda`, in units of the median of the diagonal of H.
    surrogate : optional
        As for :func:`gf_ksd`, but if not given, an interpolant of all values,
        :class:`~steinbox.surrogates.PassThrough`. One of your own should follow the target closely: a point where
        :math:`\rho/p` is near zero costs nothing, and would be taken first.
    score, kernel, bandwidth, coordinates
        As for :func:`goodness_of_fit`.

    Returns
    -------
    BlackBoxWeights

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(0.5, 1.5, size=(200, 1))  # the target is N(0, 1)
    >>> best = black_box_weights(x, -0.5 * (x**2).sum(axis=1))
    >>> mean = best.weights @ x[:, 0]
    >>> bool(abs(mean) < 0.02 and abs(best.weights @ x[:, 0] ** 2 - mean**2 - 1) < 0.05 and best.duality_gap < 1e-6)
    True
    """
    require_number("regularization", regularization)
    sample = weigh(x, log_prob, score=score, surrogate=surrogate, default=PassThrough())
    warn(sample.warnings)
    weighty = np.flatnonzero(sample.weights > 0)  # a point of no weight says nothing
    matrix = Metric(kernel, bandwidth, coordinates).stein_kernel(sample).matrix()[np.ix_(weighty, weighty)]
    ratio = len(sample.points) * sample.weights[weighty]  # ρ/p, with a mean of one
    matrix *= len(sample.points) ** 2
    objective = matrix + regularization * np.median(np.diag(matrix)) * np.eye(len(matrix))
    best = _minimize_on_simplex(objective)
    gradient = objective @ best
    weights = np.zeros(len(np.asarray(x)))
    weights[sample.indices[weighty]] = best
    return BlackBoxWeights(
        weights=weights,
        discrepancy=float(np.sqrt(max(float(best @ matrix @ best), 0.0)) / (best @ ratio)),
        duality_gap=float(2 * (best @ gradient - gradient.min())),
        effective_sample_size=effective_sample_size(weights),
    )


def _minimize_on_simplex(matrix: Array) -> Array:
    """Non-negative least squares with a factor of the matrix, scaled to a unit diagonal, with a tiny ridge."""
    from scipy.optimize import nnls  # here, because it would double the time that `import steinbox` takes

    scales = 1 / np.sqrt(np.diag(matrix))
    factor = np.linalg.cholesky(scales[:, None] * matrix * scales + _RIDGE * np.eye(len(matrix)))
    solution = scales * nnls(factor.T, np.linalg.solve(factor, scales), maxiter=30 * len(matrix))[0]
    return np.asarray(solution / solution.sum())
