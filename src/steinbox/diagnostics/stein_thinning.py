"""Stein thinning: points chosen one by one for the smallest discrepancy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import IntegerArray
from steinbox.common.checks import require_number
from steinbox.diagnostics.discrepancy import issue_warnings
from steinbox.diagnostics.inputs import Values, as_values
from steinbox.diagnostics.stein_sample import COORDINATES, KERNEL, Metric, make_stein_sample
from steinbox.diagnostics.thinning import require_fewer
from steinbox.maps.coordinates import Coordinates
from steinbox.numerics.bandwidth import Rule
from steinbox.numerics.kernels import Kernel
from steinbox.surrogates.cross_validated import PassThrough


def stein_thin(
    points: npt.ArrayLike,
    log_prob: Values | None,
    num_points: int,
    *,
    entropy: float | None = None,
    laplacian: Values | None = None,
    score: Values | None = None,
    surrogate: object | None = None,
    kernel: Kernel = KERNEL,
    bandwidth: float | str | Rule = "median",
    coordinates: Coordinates = COORDINATES,
) -> IntegerArray:
    r"""Choose points one by one so that their (gradient-free) Stein discrepancy is as small as possible.

    The t-th point minimizes

    .. math:: H_{ii} + \Delta_i + 2 \sum_{s < t} H_{i\,i_s} - t \lambda \log p(x_i),
              \qquad H_{ij} = n^2 w_i w_j \kappa(x_i, x_j)

    (Riabiz et al., 2022; gradient-free: Fisher & Oates, 2024). The terms with :math:`\lambda` and
    :math:`\Delta_i = \sum_k \max(0, \partial_k^2 \log p(x_i))` are the regularization of Bénard, Staber & Da Veiga
    (2023): without them, points gather where the score vanishes, at saddles and far out on ridges, and modes
    get equal shares. With them they still do so on curved targets: :func:`thin` is the better choice unless there are
    too many points for it.

    Parameters
    ----------
    points : (n, d) array_like
        Any points, also from elsewhere than the target, such as a burn-in. It takes n·m evaluations of the kernel, and
        time n³ for up to 1,000 points if there is no score.
    log_prob : (n,) array_like or function, or None
        As for :func:`gf_ksd`. Points where it is −inf are never chosen. May be None if ``score`` is given and
        ``entropy`` is 0.
    num_points : int
        The m, at most n. A point may be chosen more than once.
    entropy : float, optional
        The :math:`\lambda`; 1/m if not given, and 0 for plain Stein thinning.
    laplacian : (n,) array_like or function, optional
        The :math:`\Delta`, in units of ``coordinates``: ``Plain()`` for your own. Left out if not given, since
        values of the log-density do not tell it.
    score, surrogate, kernel, bandwidth, coordinates
        As for :func:`thin`.

    Returns
    -------
    (m,) array of int
        Indices in the order of choice.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(1.0, 2.0, size=(500, 1))  # not from the target, N(0, 1)
    >>> chosen = points[stein_thin(points, -0.5 * (points**2).sum(axis=1), 50)]
    >>> bool(abs(chosen.mean()) < 0.1 and abs(chosen.std() - 1) < 0.1)
    True
    """
    sample = make_stein_sample(points, log_prob, score=score, surrogate=surrogate, default=PassThrough())
    require_fewer(num_points, len(sample.points))
    entropy = 1 / num_points if entropy is None else entropy
    require_number("entropy", entropy)
    if log_prob is None and entropy > 0:
        raise ValueError("expected log_prob for the entropic regularization, got None; give it, or entropy=0")
    issue_warnings(sample.warnings)
    stein = Metric(kernel, bandwidth, coordinates).stein_kernel(sample)
    scale = len(sample.points) ** 2  # weights sum to one, and the regularization is for those of mean one
    objective = np.where(sample.weights > 0, scale * stein.diagonal, np.inf)  # a weight of zero would cost nothing
    if laplacian is not None:
        objective += as_values("laplacian", laplacian, np.asarray(points, dtype=np.float64))[sample.indices]
    reward = entropy * sample.log_prob if entropy > 0 else 0.0
    chosen = np.empty(num_points, dtype=np.int64)
    for number in range(num_points):
        objective -= reward
        chosen[number] = np.argmin(objective)
        objective += 2 * scale * stein.column(chosen[number])
    return np.asarray(sample.indices[chosen])
