r"""Kernel adaptive Metropolis-Hastings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.numerics.bandwidth import Median
from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import kernel_gradient_scatter, median_squared_distance
from steinbox.samplers.acceptance import robbins_monro
from steinbox.samplers.markov.chains import MarkovChains

TARGET_ACCEPTANCE = 0.234  # of random walks in many dimensions (Roberts, Gelman & Gilks, 1997)
MAX_POINTS_FOR_MEDIAN = 200
MAX_LOG_NU = 5.0  # where the history's gradients vanish no scale helps, and a covariance must stay one


@serializable("kernel-adaptive-metropolis")
@dataclass(frozen=True, eq=False)
class KernelProposal:
    r"""The proposal :math:`N(x, \gamma^2 I + \nu^2 M_x H M_x^\top)` with :math:`M_x = 2 [\nabla_x k(x, z_1), \dots]`.

    z is a part of the chains' history, H the centering matrix, k the Gaussian kernel :math:`e^{-\|x - z\|^2 / h}`. The
    covariance follows the local shape of the history, so it differs from point to point and the proposal is not
    symmetric. In units of the history's standard deviations, so that parameters may have any scale.
    """

    history: Array
    scales: Array
    bandwidth: float
    gamma: float
    log_nu: float
    num_seen: int
    max_history: int

    def draw(self, points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        x = points / self.scales
        forward = _roots(self.covariance(x))
        proposed = x + np.einsum("nij,nj->ni", forward, rng.standard_normal(x.shape))
        backward = _roots(self.covariance(proposed))
        correction = _log_normal(x - proposed, backward) - _log_normal(proposed - x, forward)
        return proposed * self.scales, correction

    def covariance(self, x: Array) -> Array:
        """The proposal's covariance at every x, (n, d, d)."""
        spread = 4 * kernel_gradient_scatter(x, self.history, RBF(), self.bandwidth)
        return np.asarray(self.gamma**2 * np.eye(x.shape[1]) + np.exp(2 * self.log_nu) * spread)

    def learn(self, points: Array, acceptance: float, step: int, rng: np.random.Generator) -> KernelProposal:
        history, num_seen = reservoir(self.history * self.scales, points, self.num_seen, self.max_history, rng)
        log_nu = min(robbins_monro(self.log_nu, acceptance, TARGET_ACCEPTANCE, step), MAX_LOG_NU)
        return replace(self._rescaled(history), log_nu=log_nu, num_seen=num_seen)

    def _rescaled(self, history: Array) -> KernelProposal:
        scales = history.std(axis=0)
        scales = np.where(scales > 0, scales, self.scales)
        z = history / scales
        squared = median_squared_distance(z[:MAX_POINTS_FOR_MEDIAN])
        return replace(self, history=z, scales=scales, bandwidth=squared if squared > 0 else self.bandwidth)


@dataclass(frozen=True, kw_only=True)
class KAMH(MarkovChains):
    r"""Kernel adaptive Metropolis-Hastings (Sejdinovic et al., 2014), n chains that share a history.

    The proposal :math:`N(x, \gamma^2 I + \nu^2 M_x H M_x^\top)` follows the local shape of the points seen so far.

    Parameters
    ----------
    num_iterations, adaptation
        See :class:`~steinbox.samplers.markov.chains.MarkovChains`.
    gamma : float
        Standard deviation of the part of the step that knows no shape, in units of the history's.
    max_history : int
        Points kept, a uniform sample of all that the chains visited while they learned.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, num_particles=50, seed=0,
    ...                    method=sb.baselines.KAMH(num_iterations=100))
    >>> result.particles.shape
    (50, 2)
    """

    gamma: float = 0.2
    max_history: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.gamma > 0 or self.max_history < 2:
            raise ValueError(f"KAMH expects a positive gamma and max_history of at least 2, got {self}")

    def first_proposal(self, particles: Array) -> KernelProposal:
        scales = particles.std(axis=0)
        history = particles[: self.max_history]
        log_nu = float(np.log(2.38 / np.sqrt(6 * particles.shape[1])))  # the fixed setting of the paper
        return KernelProposal(
            history / scales, scales, Median()(history / scales), self.gamma, log_nu, len(history), self.max_history
        )


def reservoir(
    kept: Array, points: Array, num_seen: int, max_points: int, rng: np.random.Generator
) -> tuple[Array, int]:
    """A uniform sample of everything seen, at most ``max_points``, after these points came (Vitter, 1985).

    Examples
    --------
    >>> import numpy as np
    >>> kept, num_seen = reservoir(np.zeros((2, 1)), np.ones((3, 1)), 2, 4, np.random.default_rng(0))
    >>> len(kept), num_seen
    (4, 5)
    """
    room = max(0, max_points - len(kept))
    kept = np.concatenate([kept, points[:room]])
    later = points[room:]
    places = rng.integers(num_seen + room + 1 + np.arange(len(later)))
    taken = places < max_points
    kept[places[taken]] = later[taken]
    return kept, num_seen + len(points)


def _roots(covariances: Array) -> Array:
    return np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)


def _log_normal(offsets: Array, roots: Array) -> Array:
    """The log-density of N(0, L Lᵀ) at every offset, up to a constant; one lower root L each."""
    standard = np.linalg.solve(roots, offsets[..., None])[..., 0]
    return np.asarray(-0.5 * (standard**2).sum(axis=1) - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1))
