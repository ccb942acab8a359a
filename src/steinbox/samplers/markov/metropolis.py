"""Random-walk Metropolis, with a fixed shape or one that is learned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.gaussian import Gaussian
from steinbox.samplers.acceptance import robbins_monro
from steinbox.samplers.markov.chains import ChainState, MarkovChains, Proposal

TARGET_ACCEPTANCE = 0.234  # of random walks in many dimensions (Roberts, Gelman & Gilks, 1997)


@serializable("adaptive-random-walk")
@dataclass(frozen=True, eq=False)
class RandomWalk:
    r"""The proposal :math:`N(x, s^2\, \tfrac{2.38^2}{d}\, \Sigma)`, symmetric.

    The scale s moves towards an acceptance of 0.234. With ``learns_shape`` the mean and covariance of the chains are
    followed with the gain :math:`t^{-0.6}`, and their covariance is :math:`\Sigma`.
    """

    mean: Array
    cov: Array
    log_scale: float
    learns_shape: bool

    def draw(self, points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        root = np.linalg.cholesky(self.cov)
        step = np.exp(self.log_scale) * 2.38 / np.sqrt(points.shape[1])
        return points + step * rng.standard_normal(points.shape) @ root.T, np.zeros(len(points))

    def learn(self, points: Array, acceptance: float, step: int, rng: np.random.Generator) -> RandomWalk:
        log_scale = robbins_monro(self.log_scale, acceptance, TARGET_ACCEPTANCE, step)
        if not self.learns_shape:
            return replace(self, log_scale=log_scale)
        gain = (step + 1) ** -0.6
        centered = points - self.mean
        outer = centered.T @ centered / len(points)
        mean = self.mean + gain * centered.mean(axis=0)
        jitter = 1e-10 * np.diag(np.diag(self.cov))
        return replace(self, mean=mean, cov=(1 - gain) * self.cov + gain * outer + jitter, log_scale=log_scale)


def _first_walk(particles: Array, learns_shape: bool) -> RandomWalk:
    gaussian = Gaussian.fit(particles)
    return RandomWalk(gaussian.mean, gaussian.cov, 0.0, learns_shape)


@dataclass(frozen=True, kw_only=True)
class RandomWalkMetropolis(MarkovChains):
    r"""Random-walk Metropolis: steps shaped like the initial particles, scaled towards an acceptance of 0.234.

    Parameters
    ----------
    num_iterations, adaptation
        See :class:`~steinbox.samplers.markov.chains.MarkovChains`.
    step : float, optional
        A fixed standard deviation of the step in every coordinate; nothing is adapted then.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> result = sb.sample(lambda x: -0.5 * np.sum(x**2), sb.Gaussian([3.0], std=1.0), num_particles=100, seed=0,
    ...                    method=sb.baselines.RandomWalkMetropolis(num_iterations=200))
    >>> bool(abs(result.mean[0]) < 0.3)
    True
    """

    step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step is not None and not self.step > 0:
            raise ValueError(f"expected a positive step, got {self.step}")

    def first_proposal(self, particles: Array) -> Proposal:
        if self.step is None:
            return _first_walk(particles, learns_shape=False)
        return FixedWalk(self.step)

    def _has_learned(self, state: ChainState) -> bool:
        """At once, if there is nothing to learn."""
        return super()._has_learned(state) or (self.step is not None and state.iteration > 0)


@serializable("fixed-random-walk")
@dataclass(frozen=True)
class FixedWalk:
    """Independent normal steps that never change."""

    step: float

    def draw(self, points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        return points + self.step * rng.standard_normal(points.shape), np.zeros(len(points))

    def learn(self, points: Array, acceptance: float, step: int, rng: np.random.Generator) -> FixedWalk:
        return self


@dataclass(frozen=True, kw_only=True)
class AdaptiveMetropolis(MarkovChains):
    """Random-walk Metropolis whose steps take the shape of the target (Haario, Saksman & Tamminen, 2001).

    The chains learn the covariance together.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0.0, 0.0], std=2.0), vectorized=True,
    ...                    method=sb.baselines.AdaptiveMetropolis(), num_particles=200, max_evals=20_000, seed=0)
    >>> bool(abs(result.mean - target.mean).max() < 0.15)
    True
    """

    def first_proposal(self, particles: Array) -> Proposal:
        return _first_walk(particles, learns_shape=True)
