r"""The leave-one-out interpolant: what the other points say about the target at each point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.coordinates import Whitened
from steinbox.kernels import RBF
from steinbox.pairwise import kernel_expansion_slopes
from steinbox.surrogates.interpolant import gram_matrix, trend_features
from steinbox.types import Array

_RIDGE = 1e-8


@dataclass(frozen=True)
class LeaveOneOut:
    r"""Judges every point by a surrogate that does not know it.

    The interpolant :math:`\log\rho_{-i}` of the log-target (a Gaussian process over a mean
    :math:`a + b^\top z + c\|z\|^2`, as :class:`~steinbox.surrogates.Interpolant`) goes through all values but the i-th.
    Then :math:`\rho_{-i}` is independent of :math:`x_i`, and the importance-weighted Stein identity
    :math:`E_p[\tfrac{\rho_{-i}}{p} S_{\rho_{-i}} f] = 0` holds for it. An interpolant that knows the point has
    :math:`\rho/p = 1` there by construction, whatever its score: tests based on it reject good samples.

    All n interpolants come from one inverse (Dubrule, 1983). With the matrix P that takes values v to the coefficients
    :math:`\alpha = P v` of the interpolant of all points, leaving the i-th out changes its prediction there to
    :math:`v_i - r_i`, with :math:`r_i = \alpha_i / P_{ii}`, and the coefficients to :math:`\alpha - P_{\cdot i}\, r_i`.

    Copies of a point are left out together. More than ``max_points`` are dealt into packs, and each point is judged by
    the others of its pack.

    Parameters
    ----------
    length_scales : tuple of float
        Candidates for :math:`\ell^2 / d` in :math:`k = \exp(-\|z - z'\|^2 / 2\ell^2)`; the one that predicts best, by
        the mean of :math:`|r_i|`, is taken.
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
            log_prob[pack], slope[pack] = fit.prediction, fit.slope()
        return log_prob, coordinates.score_back(slope)

    def _best_bandwidth(self, z: Array, log_target: Array) -> float:
        bandwidths = [float(2 * scale * z.shape[1]) for scale in self.length_scales]
        errors = [np.abs(_Fit(z, log_target, h, self.nugget).residual).mean() for h in bandwidths]
        return bandwidths[int(np.argmin(errors))]


class _Fit:
    """The interpolant of one pack, and what it predicts at each point from the others."""

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
        self.residual = self._coefficients / np.diag(self._to_coefficients)
        self.prediction = values - self.residual

    def slope(self) -> Array:
        """The gradient of each point's own interpolant at that point."""
        coefficients = self._coefficients - self.residual[:, None] * self._to_coefficients
        trend = self._trend - self.residual[:, None] * self._to_trend.T
        gradients = kernel_expansion_slopes(self._z, coefficients, RBF(), self._bandwidth)
        return np.asarray(gradients + trend[:, 1:-1] + 2 * trend[:, -1:] * self._z)
