r"""Kernelized Stein discrepancies: how far a sample is from a density, without draws from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.diagnostics.discrepancy import Discrepancy, issue_warnings
from steinbox.diagnostics.inputs import Values, as_points
from steinbox.diagnostics.statistic import Statistic, require_statistic, signed_root, u_statistic
from steinbox.diagnostics.stein_sample import COORDINATES, KERNEL, Metric, SteinSample, make_stein_sample
from steinbox.maps.coordinates import Coordinates
from steinbox.numerics.bandwidth import Rule
from steinbox.numerics.kernels import Kernel


def ksd(
    points: npt.ArrayLike,
    score: Values,
    *,
    weights: npt.ArrayLike | None = None,
    statistic: Statistic = "v",
    kernel: Kernel = KERNEL,
    bandwidth: float | str | Rule = "median",
    coordinates: Coordinates = COORDINATES,
    reference: npt.ArrayLike | None = None,
) -> Discrepancy:
    r"""Kernelized Stein discrepancy of a sample from a density with a known score,

    .. math:: \mathrm{KSD}^2 = \sum_{ij} v_i v_j\, \kappa_p(x_i, x_j)

    (Liu, Lee & Jordan, 2016; Chwialkowski, Strathmann & Gretton, 2016). Returns its square root.

    The density must fall to zero at the edge of its support, if it has one: Stein's identity needs it. For parameters
    with hard bounds, use an unbounded transform of them, with its Jacobian in the log-density.

    Parameters
    ----------
    points : (n, d) array_like
    score : (n, d) array_like or function
        Gradients of the log-density at the points, or a function that returns them for all points at once.
    weights : (n,) array_like, optional
        The :math:`v`, normalized here; equal if not given.
    statistic : {"v", "u"}
        The V-statistic has all pairs. The U-statistic leaves out those of a point with itself: it is unbiased, and its
        square may be negative; the root then carries the sign.
    kernel, bandwidth, coordinates
        The kernel k: ``kernels.RBF()`` or ``kernels.IMQ()``, its bandwidth (see :mod:`steinbox.numerics.bandwidth`),
        and the coordinates it acts in (see :mod:`steinbox.maps.coordinates`).
    reference : (m, d) array_like, optional
        The points that bandwidth and coordinates are fitted to, ``points`` itself if not given. To compare samples,
        give all of them the same one.

    Returns
    -------
    Discrepancy
        A float with an effective sample size.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> good, shifted = ksd(x, lambda x: -x), ksd(x, lambda x: 0.5 - x)
    >>> bool(good < 0.1 < 0.4 < shifted)
    True
    """
    sample = make_stein_sample(points, None, score=score, weights=weights)
    return stein_discrepancy(sample, Metric(kernel, bandwidth, coordinates), statistic, reference)


def gf_ksd(
    points: npt.ArrayLike,
    log_prob: Values,
    *,
    surrogate: object | None = None,
    weight: object | None = None,
    weights: npt.ArrayLike | None = None,
    statistic: Statistic = "v",
    kernel: Kernel = KERNEL,
    bandwidth: float | str | Rule = "median",
    coordinates: Coordinates = COORDINATES,
    reference: npt.ArrayLike | None = None,
) -> Discrepancy:
    r"""Gradient-free kernelized Stein discrepancy (Theorem 2 of Han & Liu, 2018) from values of the log-density alone,

    .. math:: \mathbb{D}_{\mathcal{F},\rho}^2 = \sum_{ij} v_i v_j\, w(x_i) w(x_j)\, \kappa_\rho(x_i, x_j),
              \qquad w = \rho / p,

    with :math:`\sum_i v_i w(x_i)` normalized to one, so that neither p nor :math:`\rho` needs to be normalized. Returns
    its square root. With :math:`\rho = p` it is :func:`ksd`. As there, the density must fall to zero at the edge of
    its support.

    Parameters
    ----------
    points : (n, d) array_like
    log_prob : (n,) array_like or function
        Values of the log-density up to a constant, or a function that returns them for all points at once.
        Points where it is −inf are left out and reported: their weight would be infinite.
    surrogate : optional
        The :math:`\rho`: any object with ``log_prob(x)`` and ``score(x)``, or one of :mod:`steinbox.surrogates`. If not
        given, at each point an interpolant of the values at the others,
        :class:`~steinbox.surrogates.LeaveOneOut`.
    weight : (d, d) array or WeightField, optional
        A matrix, or a field of them, that the weights :math:`w` are multiplied by: see
        :mod:`steinbox.surrogates.weight_fields`.
    weights, statistic, kernel, bandwidth, coordinates, reference
        As for :func:`ksd`.

    Returns
    -------
    Discrepancy
        A float with the effective sample size of the weights. If that is so small that the number means little, a
        warning says so.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> good, shifted = (gf_ksd(x, -0.5 * ((x - shift) ** 2).sum(axis=1)) for shift in (0.0, 0.5))
    >>> bool(good < 0.1 < 0.4 < shifted)
    True
    """
    sample = make_stein_sample(points, log_prob, surrogate=surrogate, weights=weights, weight=weight)
    issue_warnings(sample.warnings)
    return stein_discrepancy(sample, Metric(kernel, bandwidth, coordinates), statistic, reference)


def stein_discrepancy(
    sample: SteinSample, metric: Metric, statistic: Statistic = "v", reference: npt.ArrayLike | None = None
) -> Discrepancy:
    """The (gradient-free) Stein discrepancy of a sample."""
    require_statistic(statistic)
    stein = metric.stein_kernel(sample, None if reference is None else as_points("reference", reference))
    square = float(stein.quadratic_forms(np.ones((len(stein), 1)))[0])
    if statistic == "u":
        square = u_statistic(square, float(stein.diagonal.sum()), sample.sample_weights)
    root = signed_root(square, statistic)
    return Discrepancy(root, sample.effective_sample_size, sample.num_outside, sample.warnings)
