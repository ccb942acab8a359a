r"""Surrogates for judging a sample from the target's values at its points: what is :math:`\rho`, and its score, there?

Both interpolate the log-target by a Gaussian process over a mean :math:`a + b^\top z + c\|z\|^2`, as
:class:`~steinbox.surrogates.Interpolant` does, in coordinates z whitened by the points. More points than the cubic cost
allows are dealt into packs, and each point is judged by its pack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from steinbox.common.arrays import Array
from steinbox.maps.coordinates import Whitened
from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import kernel_expansion_slopes
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.surrogates.interpolant import gram_matrix, trend_features

_RIDGE = 1e-8


@runtime_checkable
class SampleSurrogate(Protocol):
    """Gives every point of a sample a surrogate, which may be one of its own."""

    def judge(self, points: Array, log_target: Array) -> tuple[Array, Array]:
        """Values (n,) and scores (n, d) of the surrogates' log-densities at the points."""
        ...


@dataclass(frozen=True)
class _PackJudge(ABC):
    length_scales: tuple[float, ...] = (0.25, 1.0, 4.0, 16.0, 64.0)
    nugget: float = 1e-8
    max_points: int = 1000

    def __post_init__(self) -> None:
        scales = np.atleast_1d(np.asarray(self.length_scales, dtype=np.float64))
        if not (
            self.nugget > 0 and self.max_points >= 3 and scales.size and np.all(np.isfinite(scales) & (scales > 0))
        ):
            raise ValueError(
                f"{type(self).__name__} expects positive length_scales and nugget, and max_points of at least 3"
            )

    def judge(self, points: Array, log_target: Array) -> tuple[Array, Array]:
        """Values (n,) and scores (n, d) of the log-surrogate at the points; the log-target there must be finite."""
        distinct, first, copies = np.unique(points, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # as given: packs of a Markov chain are then spread over all of it
        log_prob, score = self._judge_distinct(points[first[order]], log_target[first[order]])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(distinct))
        places = rank[copies.reshape(-1)]
        return log_prob[places], score[places]

    def _judge_distinct(self, points: Array, log_target: Array) -> tuple[Array, Array]:
        if len(points) < 3:
            raise ValueError(f"expected at least 3 different points for the default surrogate, got {len(points)}")
        coordinates = Whitened().fit(points)
        z = coordinates.forward(points)
        num_packs = -(-len(points) // self.max_points)
        bandwidth = self._best_bandwidth(z[::num_packs], log_target[::num_packs])
        log_prob, slope = np.empty(len(points)), np.empty_like(points)
        for pack in (slice(start, None, num_packs) for start in range(num_packs)):
            log_prob[pack], slope[pack] = self._verdict(_Fit(z[pack], log_target[pack], bandwidth, self.nugget))
        return log_prob, coordinates.pull_back_score(points, slope)

    def _best_bandwidth(self, z: Array, log_target: Array) -> float:
        bandwidths = [float(2 * scale * z.shape[1]) for scale in np.atleast_1d(self.length_scales)]
        return min(bandwidths, key=lambda h: self._loss(_Fit(z, log_target, h, self.nugget)))

    @abstractmethod
    def _loss(self, fit: _Fit) -> float:
        """How unfit a length-scale is."""

    @abstractmethod
    def _verdict(self, fit: _Fit) -> tuple[Array, Array]:
        """Values and gradients with respect to z."""


@dataclass(frozen=True)
class LeaveOneOut(_PackJudge):
    r"""Judges every point by a surrogate that does not know it: for measuring and testing.

    The process that knows the target at all points but the i-th has a mean :math:`\mu_{-i}` and a variance
    :math:`\sigma_{-i}^2`, and the surrogate is

    .. math:: \log\rho_{-i} = \mu_{-i} - \sigma_{-i}^2 .

    It is independent of :math:`x_i`, so that the importance-weighted Stein identity
    :math:`E_p[\tfrac{\rho_{-i}}{p} S_{\rho_{-i}} f] = 0` holds for it. The variance keeps :math:`\rho` low where the
    other points know little, at the edge of the sample: if the process is right, :math:`E[(\rho_{-i}/p)^2] = 1`.

    All n surrogates come from one inverse (Dubrule, 1983). With the matrix P that takes values v to the coefficients
    :math:`\alpha = P v` of the process that knows all points, :math:`\mu_{-i} = v_i - r_i` with
    :math:`r_i = \alpha_i / P_{ii}`, and :math:`\sigma_{-i}^2 = s^2 / P_{ii}` with :math:`s^2` the mean of
    :math:`r_i^2 P_{ii}`. The gradients of mean and variance are those of the process with the coefficients
    :math:`\alpha - r_i P_{\cdot i}` and :math:`2 \sigma_{-i}^2 P_{\cdot i}`.

    Copies of a point are left out together.

    Parameters
    ----------
    length_scales : tuple of float
        Candidates for :math:`\ell^2 / d` in :math:`k = \exp(-\|z - z'\|^2 / 2\ell^2)`; the one with the largest
        effective sample size of :math:`\rho_{-i} / p` is taken.
    nugget : float
        Added to the diagonal, relative to the kernel's variance.
    max_points : int
        The largest pack: the inverse is cubic in it.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal((100, 2))
    >>> log_prob, score = LeaveOneOut().judge(x, -0.5 * (x**2).sum(axis=1))
    >>> bool(np.abs(score + x).max() < 0.01)
    True
    """

    def _loss(self, fit: _Fit) -> float:
        return -effective_sample_size(normalize(-fit.residual - fit.variance))

    def _verdict(self, fit: _Fit) -> tuple[Array, Array]:
        return fit.values - fit.residual - fit.variance, fit.slope(fit.residual + 2 * fit.variance)


@dataclass(frozen=True)
class PassThrough(_PackJudge):
    r"""Judges every point by a surrogate that passes through the target's value there: for choosing and weighting.

    Then :math:`\rho/p = 1` at every point, and the gradient-free Stein kernel is that of p with the interpolant's score
    in place of the true one. Choosing needs this: a point where :math:`\rho/p` is near zero adds nothing to a
    discrepancy, and a rule that minimises it would choose nothing else. Testing does not tolerate it: the weights are
    one even where the score is wrong, and good samples are rejected in many dimensions.

    Parameters
    ----------
    length_scales : tuple of float
        Candidates for :math:`\ell^2 / d`; the one with the smallest mean error at points left out is taken.
    nugget, max_points
        As for :class:`LeaveOneOut`.
    """

    def _loss(self, fit: _Fit) -> float:
        return float(np.abs(fit.residual).mean())

    def _verdict(self, fit: _Fit) -> tuple[Array, Array]:
        return fit.values, fit.slope(np.zeros(len(fit.values)))


class _Fit:
    """The process of one pack: ``residual`` and ``variance`` are those of each value, given the others."""

    def __init__(self, z: Array, values: Array, bandwidth: float, nugget: float) -> None:
        self.values = values
        self._z, self._bandwidth = z, bandwidth
        offset, features = values.mean(), trend_features(z)
        inverse = np.linalg.inv(gram_matrix(z, RBF(), bandwidth, nugget))
        solved = inverse @ features
        moments = features.T @ solved
        moments[np.diag_indices_from(moments)] += _RIDGE * np.trace(moments) / len(moments)
        self._to_trend = np.linalg.solve(moments, solved.T)
        self._to_coefficients = inverse - solved @ self._to_trend
        self._trend = self._to_trend @ (values - offset)
        self._coefficients = self._to_coefficients @ (values - offset)
        precision = np.diag(self._to_coefficients)
        self.residual = self._coefficients / precision
        self.variance = (self.residual**2 * precision).mean() / precision

    def slope(self, change: Array) -> Array:
        """Gradients at each point, the i-th with c_i times the i-th column of P taken off the coefficients."""
        coefficients = self._coefficients - change[:, None] * self._to_coefficients
        trend = self._trend - change[:, None] * self._to_trend.T
        gradients = kernel_expansion_slopes(self._z, coefficients, RBF(), self._bandwidth)
        return np.asarray(gradients + trend[:, 1:-1] + 2 * trend[:, -1:] * self._z)
