r"""Surrogates for the points of a sample themselves, from the target's values there: what the Stein discrepancies,
thinning and reweighting use when the target has no score.

Both fit a Gaussian process to the log-density (:mod:`steinbox.numerics.gaussian_process`), in coordinates z whitened by
the points. More points than the cubic cost allows are split into groups, each with a process of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from steinbox.common.arrays import Array
from steinbox.maps.coordinates import Whitened
from steinbox.numerics.gaussian_process import GaussianProcess, bandwidths_of, fit_best
from steinbox.numerics.weights import effective_sample_size, normalize

_MIN_POINTS = 3  # different ones: with fewer there is nothing to leave out


@runtime_checkable
class SampleSurrogate(Protocol):
    """Gives every point of a sample a surrogate, which may be one of its own."""

    def evaluate_sample(self, points: Array, log_prob: Array, /) -> tuple[Array, Array]:
        """Log-densities (n,) and scores (n, d) of the surrogates at the points, from the target's log-densities."""
        ...


@dataclass(frozen=True)
class _ProcessOfSample(ABC):
    length_scales: tuple[float, ...] = (0.25, 1.0, 4.0, 16.0, 64.0)
    nugget: float = 1e-8
    max_points: int = 1000

    def __post_init__(self) -> None:
        scales = np.atleast_1d(np.asarray(self.length_scales, dtype=np.float64))
        positive = scales.size and np.all(np.isfinite(scales) & (scales > 0))
        if not (self.nugget > 0 and self.max_points >= _MIN_POINTS and positive):
            raise ValueError(
                f"{type(self).__name__} expects positive length_scales and nugget, and max_points of at least 3"
            )

    def evaluate_sample(self, points: Array, log_prob: Array) -> tuple[Array, Array]:
        """Log-densities (n,) and scores (n, d) of the surrogate at the points.

        Parameters
        ----------
        points : (n, d) array
        log_prob : (n,) array
            The target's log-densities there, all finite.
        """
        distinct, first, copies = np.unique(points, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # as given: groups of a Markov chain are then spread over all of it
        log_density, score = self._evaluate_distinct(points[first[order]], log_prob[first[order]])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(distinct))
        places = rank[copies.reshape(-1)]
        return log_density[places], score[places]

    def _evaluate_distinct(self, points: Array, log_prob: Array) -> tuple[Array, Array]:
        if len(points) < _MIN_POINTS:
            raise ValueError(f"expected at least 3 different points for the default surrogate, got {len(points)}")
        coordinates = Whitened().fit(points)
        z = coordinates.forward(points)
        num_groups = -(-len(points) // self.max_points)
        groups = [slice(start, None, num_groups) for start in range(num_groups)]
        bandwidths = bandwidths_of(np.atleast_1d(self.length_scales), z.shape[1])
        process = fit_best(z[groups[0]], log_prob[groups[0]], bandwidths, (self.nugget,), self._criterion)
        log_density, slopes = np.empty(len(points)), np.empty_like(z)
        for group in groups:
            if group != groups[0]:
                process = GaussianProcess.fit(z[group], log_prob[group], process.bandwidth, self.nugget)
            log_density[group], slopes[group] = self._evaluate(process, log_prob[group])
        return log_density, coordinates.pull_back_score(points, slopes)

    @abstractmethod
    def _criterion(self, process: GaussianProcess) -> float:
        """What the best length-scale makes largest."""

    @abstractmethod
    def _evaluate(self, process: GaussianProcess, values: Array) -> tuple[Array, Array]:
        """Log-densities and gradients with respect to z at the process's own points, where it has these values."""


@dataclass(frozen=True)
class LeaveOneOut(_ProcessOfSample):
    r"""Gives every point a surrogate that was fitted without it: for measuring and testing.

    The process fitted to the target's values at all points but the i-th has a mean :math:`\mu_{-i}` and a variance
    :math:`\sigma_{-i}^2`, and the surrogate is

    .. math:: \log\rho_{-i} = \mu_{-i} - \sigma_{-i}^2 .

    It is independent of :math:`x_i`, so that the importance-weighted Stein identity
    :math:`E_p[\tfrac{\rho_{-i}}{p} S_{\rho_{-i}} f] = 0` holds for it. The variance keeps :math:`\rho` low where the
    other points say little, at the edge of the sample: if the process is right, :math:`E[(\rho_{-i}/p)^2] = 1`.

    All n surrogates come from one inverse (Dubrule, 1983), see
    :class:`~steinbox.numerics.gaussian_process.CrossValidation`. Copies of a point are left out together.

    Parameters
    ----------
    length_scales : tuple of float
        Candidates for :math:`\ell^2 / d` in :math:`k = \exp(-\|z - z'\|^2 / 2\ell^2)`; the one with the largest
        effective sample size of :math:`\rho_{-i} / p` is taken.
    nugget : float
        Added to the diagonal, relative to the kernel's variance.
    max_points : int
        The largest group: the inverse is cubic in it.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).standard_normal((100, 2))
    >>> log_prob, score = LeaveOneOut().evaluate_sample(points, -0.5 * (points**2).sum(axis=1))
    >>> bool(np.abs(score + points).max() < 0.01)
    True
    """

    def _criterion(self, process: GaussianProcess) -> float:
        left_out = process.cross_validation
        return effective_sample_size(normalize(-left_out.residuals - left_out.variances))

    def _evaluate(self, process: GaussianProcess, values: Array) -> tuple[Array, Array]:
        left_out = process.cross_validation
        return values - left_out.residuals - left_out.variances, process.cross_validated_slopes(variance_factor=1.0)


@dataclass(frozen=True)
class PassThrough(_ProcessOfSample):
    r"""A surrogate that passes through the target's value at every point: for choosing and weighting.

    Then :math:`\rho/p = 1` at every point, and the gradient-free Stein kernel is that of p with the interpolant's score
    in place of the true one. Choosing needs this: a point where :math:`\rho/p` is near zero adds nothing to a
    discrepancy, and a rule that minimizes it would choose nothing else. Testing does not tolerate it: the weights are
    one even where the score is wrong, and good samples are rejected in many dimensions.

    Parameters
    ----------
    length_scales : tuple of float
        Candidates for :math:`\ell^2 / d`; the one with the smallest mean error at points left out is taken.
    nugget, max_points
        As for :class:`LeaveOneOut`.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> x = target.sample(100, 0)
    >>> best = sb.black_box_weights(x, target.log_prob(x), surrogate=sb.surrogates.PassThrough())
    >>> best.weights.shape
    (100,)
    """

    def _criterion(self, process: GaussianProcess) -> float:
        return -float(np.abs(process.cross_validation.residuals).mean())

    def _evaluate(self, process: GaussianProcess, values: Array) -> tuple[Array, Array]:
        return values, process.mean_and_slopes(process.points)[1]
