"""Stein thinning: a few points that represent many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import IntegerArray
from steinbox.common.checks import require_count
from steinbox.diagnostics.discrepancy import issue_warnings
from steinbox.diagnostics.inputs import Values
from steinbox.diagnostics.stein_sample import COORDINATES, KERNEL, Metric, make_stein_sample
from steinbox.maps.coordinates import Coordinates
from steinbox.numerics.bandwidth import Rule
from steinbox.numerics.kernels import Kernel
from steinbox.surrogates.cross_validated import PassThrough


def thin(
    points: npt.ArrayLike,
    log_prob: Values | None,
    num_points: int,
    *,
    score: Values | None = None,
    surrogate: object | None = None,
    kernel: Kernel = KERNEL,
    bandwidth: float | str | Rule = "median",
    coordinates: Coordinates = COORDINATES,
) -> IntegerArray:
    r"""Choose points one by one so that the (gradient-free) Stein discrepancy of those chosen is as small as possible.

    The m-th point minimizes :math:`\tfrac12 H_{ii} + \sum_{j < m} H_{i\,i_j}` with
    :math:`H_{ij} = w_i w_j \kappa(x_i, x_j)` (Riabiz et al., 2022; gradient-free: Fisher & Oates, 2024). A point may be
    chosen more than once. It takes n·m evaluations of the kernel. The density must fall to zero at the edge of its
    support, if it has one.

    Parameters
    ----------
    points : (n, d) array_like
        Any points, also from elsewhere than the target, such as a burn-in.
    log_prob : (n,) array_like or function, or None
        As for :func:`gf_ksd`. Points where it is −inf are never chosen. May be None if ``score`` is given.
    num_points : int
        The m, at most n.
    surrogate : optional
        As for :func:`black_box_weights`.
    score, kernel, bandwidth, coordinates
        As for :func:`goodness_of_fit`.

    Returns
    -------
    (m,) array of int
        Indices in the order of choice: ``points[thin(points, log_prob, 20)]`` are twenty good ones.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(1.0, 2.0, size=(500, 1))  # not from the target, N(0, 1)
    >>> chosen = points[thin(points, -0.5 * (points**2).sum(axis=1), 50)]
    >>> bool(abs(chosen.mean()) < 0.1 and abs(chosen.std() - 1) < 0.1)
    True
    """
    require_count("num_points", num_points)
    sample = make_stein_sample(points, log_prob, score=score, surrogate=surrogate, default=PassThrough())
    if num_points > len(sample.points):
        raise ValueError(
            f"expected num_points of at most the {len(sample.points)} inside the support, got {num_points}"
        )
    issue_warnings(sample.warnings)
    stein = Metric(kernel, bandwidth, coordinates).stein_kernel(sample)
    objective = np.where(sample.weights > 0, stein.diagonal / 2, np.inf)  # a point of weight zero would cost nothing
    chosen = np.empty(num_points, dtype=np.int64)
    for number in range(num_points):
        chosen[number] = np.argmin(objective)
        objective += stein.column(chosen[number])
    return np.asarray(sample.indices[chosen])
