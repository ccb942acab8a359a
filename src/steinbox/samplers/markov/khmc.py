r"""Kernel adaptive Hamiltonian Monte Carlo: leapfrog on the gradient of an exponential family fitted to the history."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_count
from steinbox.common.serialization import serializable
from steinbox.maps.coordinates import Affine, Whitened
from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import kernel_expansion, median_squared_distance, squared_distances
from steinbox.samplers.acceptance import robbins_monro
from steinbox.samplers.markov.chains import MarkovChains
from steinbox.samplers.markov.kamh import reservoir

REFIT_GROWTH = 1.2  # the family is fitted anew whenever the number of steps has grown by this factor
_RIDGE_PER_POINT = 1e-3  # of the lite family: the sum over points grows with them, and so must what restrains it
_RIDGE_OF_FEATURES = 0.1  # of the finite family: with less, chains in the tails are sent anywhere


class Energy(Protocol):
    """A fitted log-density, of which only the gradient is needed."""

    def gradient(self, z: Array) -> Array:
        """At the rows of ``z``."""
        ...


@serializable("kernel-exponential-family-lite")
@dataclass(frozen=True, eq=False)
class LiteFamily:
    r"""The log-density :math:`f(z) = \sum_j \alpha_j k(z_j, z)` that matches the history's score best.

    Score matching (Hyvärinen, 2005) minimizes
    :math:`\sum_i \sum_l \partial_l^2 f(z_i) + \tfrac12 (\partial_l f(z_i))^2`. With
    :math:`k = e^{-\|z - z'\|^2 / \sigma}` this is
    :math:`(C + \tfrac{4}{\sigma^2} \lambda (K + I))\, \alpha = -b`, where

    .. math:: b_j = \sum_{il} \partial_l^2 k(z_j, z_i), \qquad
              C_{jk} = \sum_{il} \partial_l k(z_j, z_i)\, \partial_l k(z_k, z_i),

    and C is three matrix products, since :math:`\partial_l k = \tfrac{2}{\sigma} (D_l K - K D_l)` with diagonal
    :math:`D_l` (Strathmann et al., 2015, Proposition 1 and Appendix; their C is this one times
    :math:`\sigma^2/4`, which is where the factor of their :math:`\lambda` comes from).
    """

    centers: Array
    coefficients: Array
    bandwidth: float

    @classmethod
    def fit(cls, z: Array, bandwidth: float, regularization: float | None, rng: np.random.Generator) -> LiteFamily:
        """Match the score of the points."""
        factor = _RIDGE_PER_POINT * len(z) if regularization is None else 4 * regularization / bandwidth**2
        squares = squared_distances(z, z)
        kernel = RBF().value(squares / bandwidth)
        b = (kernel * (4 * squares / bandwidth**2 - 2 * z.shape[1] / bandwidth)).sum(axis=1)
        gram = z @ z.T
        crossed = (kernel * gram) @ kernel
        middle = (kernel * np.diag(gram)) @ kernel
        c = (4 / bandwidth**2) * ((kernel @ kernel) * gram - crossed - crossed.T + middle)
        return cls(z, np.linalg.solve(c + factor * (kernel + np.eye(len(z))), -b), bandwidth)

    def gradient(self, z: Array) -> Array:
        return kernel_expansion(z, self.centers, self.coefficients, RBF(), self.bandwidth)[1]


@serializable("kernel-exponential-family-finite")
@dataclass(frozen=True, eq=False)
class FiniteFamily:
    r"""The log-density :math:`f(z) = \theta^\top \phi(z)` with random features, by score matching.

    The m features are :math:`\phi_j(z) = \cos(\omega_j^\top z + u_j)` with
    :math:`\omega_j \sim N(0, \tfrac{2}{\sigma} I)`, whose average products are the Gaussian kernel. The cost of a fit
    is linear in the number of points. Proposition 2 has features :math:`\sqrt{2/m}\,\phi_j`, so that its
    :math:`\lambda` counts m/2 times here.
    """

    frequencies: Array
    phases: Array
    coefficients: Array

    @classmethod
    def fit(
        cls, z: Array, bandwidth: float, regularization: float | None, rng: np.random.Generator, num_features: int = 300
    ) -> FiniteFamily:
        """Match the score of the points."""
        frequencies = np.sqrt(2 / bandwidth) * rng.standard_normal((num_features, z.shape[1]))
        phases = rng.uniform(0, 2 * np.pi, size=num_features)
        angles = z @ frequencies.T + phases
        sines, cosines = np.sin(angles), np.cos(angles)
        lengths = (frequencies**2).sum(axis=1)
        c = (sines.T @ sines) * (frequencies @ frequencies.T) / len(z)
        b = -(cosines * lengths).mean(axis=0)
        ridge = _RIDGE_OF_FEATURES if regularization is None else 0.5 * num_features * regularization
        return cls(frequencies, phases, np.linalg.solve(c + ridge * np.eye(num_features), -b))

    def gradient(self, z: Array) -> Array:
        sines = np.sin(z @ self.frequencies.T + self.phases)
        return np.asarray(-(sines * self.coefficients) @ self.frequencies)


@serializable("kernel-hamiltonian")
@dataclass(frozen=True, eq=False)
class HamiltonianProposal:
    """Leapfrog in whitened coordinates, the same number of steps for all chains; the momentum is new each time."""

    energy: Energy
    coordinates: Affine
    history: Array
    num_seen: int
    next_fit: float
    log_step: float
    settings: KHMC

    def draw(self, points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        z, momentum = self.coordinates.forward(points), rng.standard_normal(points.shape)
        step = np.exp(self.log_step) * rng.uniform(0.5, 1.5)
        num_steps = int(rng.integers(1, self.settings.max_leapfrog + 1))
        moved, final = leapfrog(self.energy, z, momentum, step, num_steps)
        correction = 0.5 * ((momentum**2).sum(axis=1) - (final**2).sum(axis=1))
        proposed = self.coordinates.displace(points, moved - z)
        overflow = ~np.isfinite(proposed.sum(axis=1))
        return np.where(overflow[:, None], points, proposed), np.where(overflow, -np.inf, correction)

    def learn(self, points: Array, acceptance: float, step: int, rng: np.random.Generator) -> HamiltonianProposal:
        history, num_seen = reservoir(self.history, points, self.num_seen, self.settings.max_history, rng)
        log_step = robbins_monro(self.log_step, acceptance, self.settings.target_acceptance, step)
        learned = replace(self, history=history, num_seen=num_seen, log_step=log_step)
        return learned if step < self.next_fit else self.settings.refit(learned, REFIT_GROWTH * step + 1, rng)


@serializable("khmc-settings")
@dataclass(frozen=True, kw_only=True)
class KHMC(MarkovChains):
    r"""Kernel adaptive Hamiltonian Monte Carlo (Strathmann et al., 2015), n chains that share a history.

    An exponential family in a kernel space is fitted to the points seen so far, and its gradient drives leapfrog steps.
    The Metropolis step uses the target itself: values are enough, and the chains are exact however bad the fit is. One
    evaluation per step, however many leapfrog steps it has.

    Parameters
    ----------
    num_iterations, adaptation
        See :class:`~steinbox.samplers.markov.chains.MarkovChains`.
    family : {"lite", "finite"}
        Kernels at the points of the history, or random features.
    max_history : int
        Points kept, a uniform sample of all that the chains visited while they learned.
    max_leapfrog : int
        Leapfrog steps are drawn from 1 to this many.
    target_acceptance : float
        What the step size adapts to. The gradient is a fitted one, and on a posterior it fits badly longer steps that
        are accepted less often can be worth it: see the benchmark on the Glass posterior.
    regularization : float, optional
        The :math:`\lambda` of the fit as Strathmann et al. (2015) define it, in Proposition 1 for the lite family and
        2 for the finite one, in whitened coordinates; examples in their code have 0.001. If not given, the lite family
        with n points and bandwidth :math:`\sigma` has :math:`n \sigma^2/4000`, which is far more, and the finite one
        1/1500.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, num_particles=50, seed=0,
    ...                    method=sb.baselines.KHMC(num_iterations=50, max_history=200))
    >>> result.particles.shape
    (50, 2)
    """

    family: Literal["lite", "finite"] = "lite"
    max_history: int = 1000
    max_leapfrog: int = 10
    target_acceptance: float = 0.7
    regularization: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("max_history", self.max_history, smallest=3)
        require_count("max_leapfrog", self.max_leapfrog)
        if not 0 < self.target_acceptance < 1:
            raise ValueError(f"KHMC expects target_acceptance between 0 and 1, got {self.target_acceptance}")
        if self.family not in _FAMILIES or not (self.regularization is None or self.regularization > 0):
            raise ValueError(f"KHMC expects family 'lite' or 'finite' and a positive regularization, got {self}")

    def first_proposal(self, particles: Array) -> HamiltonianProposal:
        history = particles[: self.max_history]
        coordinates = Whitened().fit(history)
        log_step = float(np.log(0.3 * particles.shape[1] ** -0.25))
        first = HamiltonianProposal(
            _NoEnergy(), coordinates, history, len(history), next_fit=1, log_step=log_step, settings=self
        )
        return self.refit(first, 2, np.random.default_rng(0))

    def refit(self, proposal: HamiltonianProposal, next_fit: float, rng: np.random.Generator) -> HamiltonianProposal:
        """The proposal with the family fitted anew to its history."""
        distinct = np.unique(proposal.history, axis=0)
        if len(distinct) < 3:
            return replace(proposal, next_fit=next_fit)
        coordinates = Whitened().fit(distinct)
        z = coordinates.forward(distinct)
        bandwidth = median_squared_distance(z)
        energy = _FAMILIES[self.family].fit(z, bandwidth, self.regularization, rng)
        return replace(proposal, energy=energy, coordinates=coordinates, next_fit=next_fit)


@serializable("flat-energy")
@dataclass(frozen=True)
class _NoEnergy:
    def gradient(self, z: Array) -> Array:
        return np.zeros_like(z)


_FAMILIES: dict[str, type[LiteFamily] | type[FiniteFamily]] = {"lite": LiteFamily, "finite": FiniteFamily}


def leapfrog(energy: Energy, z: Array, momentum: Array, step: float, num_steps: int) -> tuple[Array, Array]:
    """Positions and momenta after some leapfrog steps; reversible and volume-preserving whatever the gradient is."""
    momentum = momentum + 0.5 * step * energy.gradient(z)
    for number in range(num_steps):
        z = z + step * momentum
        momentum = momentum + (0.5 if number == num_steps - 1 else 1.0) * step * energy.gradient(z)
    return z, momentum
