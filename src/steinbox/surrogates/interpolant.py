r"""The log-domain interpolant: kernel interpolation of log p instead of p."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_count
from steinbox.maps.coordinates import Affine, Whitened
from steinbox.numerics.gaussian_process import GaussianProcess, bandwidths_of, fit_best
from steinbox.numerics.kernels import RBF, Kernel


@dataclass(frozen=True)
class Interpolant:
    r"""Builds a Gaussian-process interpolant of the log-target,

    .. math:: \log\rho(x) = a + b^\top z + c \|z\|^2 + z^\top A z + \sum_j \beta_j k(z_j, z),

    in coordinates z whitened by the current particles. It passes through the values, so that the weights
    :math:`\rho / p` are one at every particle: no weight degenerates, and the score is as good as the interpolation.
    It is within the paper's framework, which allows any :math:`\rho` with a value and a gradient.

    Length-scale and prior variance of the matrix A are the most likely of a few (profile marginal likelihood); the
    other coefficients of the mean are those of generalized least squares, see
    :mod:`steinbox.numerics.gaussian_process`.

    An interpolant has a score everywhere, not only at the points that were evaluated. So the particles make m moves by
    it before they are evaluated again, each :math:`1/\sqrt m` times as long. Where it predicts the values that they
    then turn out to have, the next one has more moves, up to ``max_moves``, and otherwise fewer.

    Points outside the support (−inf) act as a wall: they get a value ``wall`` below the lowest finite one, which makes
    the score near them point inwards.

    Parameters
    ----------
    num_history : int
        Past iterations whose particles are used too. They matter: with the current particles alone the interpolant is
        blind on all sides, and the particles run away.
    length_scales : tuple of float
        Candidates for :math:`\ell^2 / d` in :math:`k = \exp(-\|z - z'\|^2 / 2\ell^2)`.
    quadratic_variances : tuple of float
        Candidates for the prior variance of A, relative to the kernel's; zero leaves it out.
    max_moves : int
        The largest number of moves of a Stein sampler by one interpolant.
    nugget : float
        Added to the diagonal, relative to the kernel's variance.
    max_points : int
        Above this many points the oldest are left out: the solve is cubic in their number.
    num_selection_points : int
        How many of them choose the length-scale.
    wall : float
        How far below the lowest finite value a point outside the support is placed, in nats.
    kernel : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).standard_normal((100, 2))
    >>> surrogate = Interpolant().build(points, np.cos(points).sum(axis=1), 100)
    >>> bool(np.abs(surrogate.score(points) + np.sin(points)).max() < 0.1)
    True
    """

    num_history: int = 5
    length_scales: tuple[float, ...] = (1.0, 4.0, 16.0)
    quadratic_variances: tuple[float, ...] = (0.0, 1.0, 100.0)
    max_moves: int = 5
    nugget: float = 1e-6
    max_points: int = 1500
    num_selection_points: int = 300
    wall: float = 1.0
    kernel: Kernel = field(default_factory=RBF)

    def __post_init__(self) -> None:
        if self.num_history < 0 or self.max_points < 2 or self.num_selection_points < 2:
            raise ValueError("Interpolant expects num_history of at least 0, and at least 2 points")
        if not (self.nugget > 0 and self.wall > 0 and self.length_scales and min(self.length_scales) > 0):
            raise ValueError("Interpolant expects a positive nugget and wall, and positive length_scales")
        if not (self.quadratic_variances and min(self.quadratic_variances) >= 0):
            raise ValueError("Interpolant expects quadratic_variances of at least 0")
        require_count("max_moves", self.max_moves)

    def build(self, points: Array, log_target: Array, num_current: int) -> InterpolantSurrogate:
        coordinates = Whitened().fit(points[:num_current])
        points, log_target = points[: self.max_points], log_target[: self.max_points]
        z, values = coordinates.forward(points), _with_wall(log_target, self.wall)
        some = slice(None, None, -(-len(z) // self.num_selection_points))  # evenly spread
        bandwidths = bandwidths_of(self.length_scales, z.shape[1])
        best = fit_best(
            z[some],
            values[some],
            bandwidths,
            self._candidate_nuggets,
            self._log_likelihood,
            kernel=self.kernel,
            quadratic_variances=self.quadratic_variances,
        )
        process = GaussianProcess.fit(
            z, values, best.bandwidth, best.nugget, kernel=self.kernel, quadratic_variance=best.quadratic_variance
        )
        return InterpolantSurrogate(coordinates, process)

    @property
    def _candidate_nuggets(self) -> tuple[float, ...]:
        return (self.nugget,)

    def _log_likelihood(self, process: GaussianProcess) -> float:
        return process.log_likelihood()


@dataclass(frozen=True, eq=False)
class InterpolantSurrogate:
    """The interpolant of one set of points; see :class:`Interpolant`."""

    coordinates: Affine
    process: GaussianProcess

    def log_prob(self, points: Array) -> Array:
        return self.log_prob_and_score(points)[0]

    def score(self, points: Array) -> Array:
        return self.log_prob_and_score(points)[1]

    def log_prob_and_score(self, points: Array) -> tuple[Array, Array]:
        """Both at the cost of one."""
        log_prob, slopes = self.process.mean_and_slopes(self.coordinates.forward(points))
        return log_prob, self.coordinates.pull_back_score(points, slopes)


def _with_wall(log_target: Array, wall: float) -> Array:
    inside = np.isfinite(log_target)
    return np.where(inside, log_target, log_target[inside].min() - wall)
