r"""The density that a regression predicts, where nothing was evaluated: a Gaussian process through the log-densities
of the points that hold nearly all weight,

.. math:: \log p(x) = b(x) + \beta^\top (1, z, \|z\|^2) + g(z),

in whitened coordinates z; see :mod:`steinbox.numerics.gaussian_process`. The base b is nothing, or the log-density of
the fitted mixture, which leaves to the process what the mixture does not explain. Base, length-scale and nugget are the
most likely of a few.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.density import Density
from steinbox.maps.coordinates import Affine, Whitened
from steinbox.numerics.gaussian_process import GaussianProcess, bandwidths_of, fit_best

_LENGTH_SCALES = (0.25, 1.0, 4.0, 16.0, 64.0)  # candidates for ℓ²/d in k = exp(−‖z − z'‖²/2ℓ²)
_NUGGETS = (1e-6, 1e-4, 1e-2)  # candidates, relative to the variance of the process
_MAX_SELECTION_POINTS = 300  # points that choose among the candidates


@serializable("surrogate-density")
@dataclass(frozen=True, eq=False)
class SurrogateDensity:
    r"""The density of points that were chosen by a regression: :math:`\rho / \int\rho`, with

    .. math:: \log\rho(x) = \mu(x) - \sigma^2(x).

    The variance keeps it low where little is known, as in :class:`~steinbox.surrogates.LeaveOneOut`. At a training
    point it is what it would be without that point: there the process passes through :math:`\log p`, which says nothing
    of its surroundings, and would make all weights look equal.
    """

    regression: Regression
    log_evidence: float
    points: Array = field(repr=False)
    leave_one_out: Array = field(repr=False)

    @classmethod
    def of(cls, regression: Regression, points: Array, log_prob: Array, log_evidence: float) -> SurrogateDensity:
        """The density of a regression of these values, whose integral is given."""
        mean, variance = regression.leave_one_out(log_prob)
        return cls(regression, log_evidence, points, mean - variance)

    def log_prob(self, points: Array) -> Array:
        """The normalized log-density at the points."""
        mean, variance = self.regression.predict(points)
        leave_one_out = dict(zip(map(bytes, self.points), self.leave_one_out, strict=True))
        found = [leave_one_out.get(bytes(row), np.nan) for row in points]
        return np.where(np.isnan(found), mean - variance, found) - self.log_evidence


@serializable("log-density-regression")
@dataclass(frozen=True, eq=False)
class Regression:
    """A base, and a process in whitened coordinates of what the base leaves; made by :func:`fit_regression`."""

    base: Density | None
    coordinates: Affine
    process: GaussianProcess

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance of log p at the points."""
        mean, variance = self.process.predict(self.coordinates.forward(points))
        return _base(self.base, points) + mean, variance

    def leave_one_out(self, log_prob: Array) -> tuple[Array, Array]:
        """Mean and variance at each training point, predicted without its own value, which is given here."""
        residuals, variance = self.process.leave_one_out()
        return log_prob - residuals, variance


def fit_regression(points: Array, log_prob: Array, mixture: Density) -> Regression | None:
    """Fit the process to log-densities (n,) at points (n, d); None if its covariance is not positive in rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
    >>> from steinbox.densities.fitting.em import WeightedPoints
    >>> rng = np.random.default_rng(0)
    >>> points = rng.standard_normal((100, 2))
    >>> mixture = CurvedMixtures().choose(WeightedPoints(points, np.full(100, 0.01), 100), rng).density
    >>> regression = fit_regression(points, np.cos(points).sum(axis=1), mixture)
    >>> mean, variance = regression.predict(np.array([[0.5, 0.5]]))
    >>> bool(abs(mean[0] - 2 * np.cos(0.5)) < 1e-3 and variance[0] < 1e-3)
    True
    """
    coordinates = Whitened().fit(points)
    z, bases = coordinates.forward(points), (None, mixture)
    values = [log_prob - _base(base, points) for base in bases]
    likely = [_fit_most_likely(z, each) for each in values]
    best = max(range(len(bases)), key=lambda index: likely[index].log_likelihood())
    process = GaussianProcess.fit(z, values[best], likely[best].bandwidth, likely[best].nugget)
    return None if process.root is None else Regression(bases[best], coordinates, process)


def _fit_most_likely(z: Array, values: Array) -> GaussianProcess:
    """The process of the most likely bandwidth and nugget, fitted to an evenly spread part of the points."""
    some = slice(None, None, -(-len(z) // _MAX_SELECTION_POINTS))
    bandwidths = bandwidths_of(_LENGTH_SCALES, z.shape[1])
    return fit_best(z[some], values[some], bandwidths, _NUGGETS, GaussianProcess.log_likelihood)


def _base(base: Density | None, points: Array) -> Array:
    return np.zeros(len(points)) if base is None else base.log_prob(points)
