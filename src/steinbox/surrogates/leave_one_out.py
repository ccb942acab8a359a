r"""The leave-one-out interpolant: what the other points say about the target at each point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.coordinates import Whitened
from steinbox.kernels import RBF
from steinbox.pairwise import kernel_expansion_slopes
from steinbox.surrogates.interpolant import gram_matrix, trend_features
from steinbox.types import Array
from steinbox.weights import effective_sample_size, normalize

_RIDGE = 1e-8


@dataclass(frozen=True)
class LeaveOneOut:
    r"""Judges every point by a surrogate that does not know it.

    A Gaussian process over a mean :math:`a + b^\top z + c\|z\|^2` interpolates the log-target at all points but the
    i-th, as :class:`~steinbox.surrogates.Interpolant` does at all of them. With its mean :math:`\mu_{-i}` and variance
    :math:`\sigma_{-i}^2` the surrogate is

    .. math:: \log\rho_{-i} = \mu_{-i} - \sigma_{-i}^2 .

    It is independent of :math:`x_i`, so that the importance-weighted Stein identity
    :math:`E_p[\tfrac{\rho_{-i}}{p} S_{\rho_{-i}} f] = 0` holds for it. (An interpolant that knows the point has
    :math:`\rho/p = 1` there by construction, whatever its score: tests based on it reject good samples.) The variance
    keeps :math:`\rho` low where the other points know little, at the edge of the sample: if the process is right,
    :math:`E[(\rho_{-i}/p)^2] = 1` everywhere.

    All n surrogates come from one inverse (Dubrule, 1983). With the matrix P that takes values v to the coefficients
    :math:`\alpha = P v` of the process that knows all points, :math:`\mu_{-i} = v_i - r_i` with
    :math:`r_i = \alpha_i / P_{ii}`, and :math:`\sigma_{-i}^2 = s^2 / P_{ii}` with :math:`s^2` the mean of
    :math:`r_i^2 P_{ii}`. The gradients of mean and variance are those of the process with the coefficients
    :math:`\alpha - r_i P_{\cdot i}` and :math:`2 \sigma_{-i}^2 P_{\cdot i}`.

    Copies of a point are left out together. More than ``max_points`` are dealt into packs, and each point is judged by
    the others of its pack.

    Parameters
    ----------
    length_scales : tuple of float
        Candidates for :math:`\ell^2 / d` in :math:`k = \exp(-\|z - z'\|^2 / 2\ell^2)`; the one with the largest
        effective sample size of :math:`\rho_{-i} / p` is taken.
    nugget : float
        Added to the diagonal, relative to the kernel's variance.
    max_points : int
        The largest pack: the inverse is cubic in it.
    """

    length_scales: tuple[float, ...] = (0.25, 1.0, 4.0, 16.0, 64.0)
    nugget: float = 1e-8
    max_points: int = 1000

    def __post_init__(self) -> None:
        if not (self.nugget > 0 and self.max_points >= 3 and self.length_scales and min(self.length_scales) > 0):
            raise ValueError("LeaveOneOut expects positive length_scales and nugget, and max_points of at least 3")

    def judge(self, points: Array, log_target: Array) -> tuple[Array, Array]:
        r"""Values and scores of :math:`\log\rho_{-i}` at the points.

        Parameters
        ----------
        points : (n, d) array
        log_target : (n,) array
            Finite.

        Returns
        -------
        log_prob : (n,) array
        score : (n, d) array

        Examples
        --------
        >>> import numpy as np
        >>> x = np.random.default_rng(0).standard_normal((100, 2))
        >>> log_prob, score = LeaveOneOut().judge(x, -0.5 * (x**2).sum(axis=1))
        >>> bool(np.abs(score + x).max() < 1e-3)
        True
        """
        distinct, first, copies = np.unique(points, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # as given: packs of a Markov chain are then spread over all of it
        log_prob, score = self._judge_distinct(points[first[order]], log_target[first[order]])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(distinct))
        return log_prob[rank[copies]], score[rank[copies]]

    def _judge_distinct(self, points: Array, log_target: Array) -> tuple[Array, Array]:
        if len(points) < 3:
            raise ValueError(f"expected at least 3 different points for the default surrogate, got {len(points)}")
        coordinates = Whitened().fit(points)
        z = coordinates.forward(points)
        num_packs = -(-len(points) // self.max_points)
        bandwidth = self._best_bandwidth(z[::num_packs], log_target[::num_packs])
        log_prob, slope = np.empty(len(points)), np.empty_like(points)
        for pack in (slice(start, None, num_packs) for start in range(num_packs)):
            fit = _Fit(z[pack], log_target[pack], bandwidth, self.nugget)
            log_prob[pack], slope[pack] = fit.log_prob, fit.slope()
        return log_prob, coordinates.score_back(slope)

    def _best_bandwidth(self, z: Array, log_target: Array) -> float:
        bandwidths = [float(2 * scale * z.shape[1]) for scale in self.length_scales]
        log_weights = (_Fit(z, log_target, h, self.nugget).log_prob - log_target for h in bandwidths)
        return bandwidths[int(np.argmax([effective_sample_size(normalize(each)) for each in log_weights]))]


class _Fit:
    """The process of one pack, and what it says about each point without knowing it."""

    def __init__(self, z: Array, values: Array, bandwidth: float, nugget: float) -> None:
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
        self._residual = self._coefficients / precision
        self._variance = (self._residual**2 * precision).mean() / precision
        self.log_prob = values - self._residual - self._variance

    def slope(self) -> Array:
        """The gradient of each point's own surrogate at that point."""
        change = (self._residual + 2 * self._variance)[:, None]
        coefficients = self._coefficients - change * self._to_coefficients
        trend = self._trend - change * self._to_trend.T
        gradients = kernel_expansion_slopes(self._z, coefficients, RBF(), self._bandwidth)
        return np.asarray(gradients + trend[:, 1:-1] + 2 * trend[:, -1:] * self._z)
