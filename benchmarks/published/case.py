"""One target of a published suite: what a user of that suite knows, and the truth that answers are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import steinbox as sb

NUM_MESH = 20_001  # points at which a one-dimensional density is tabulated to draw from it


@dataclass(frozen=True, eq=False)
class Case:
    """A target with its exact integral and exact draws.

    Parameters
    ----------
    name : str
    log_likelihood : callable
        (n, d) -> (n,), without noise. If there is no prior, it is the log-density itself.
    factors : sequence of scipy.stats distributions, one for each coordinate
        The prior if ``has_prior``, or else only where to start.
    log_evidence : float
        The logarithm of the integral of the likelihood over the prior, or of the density.
    sample : callable
        ``(num_points, rng)`` -> exact draws of the posterior, (num_points, d).
    budgets : sequence of int
        The numbers of evaluations to run.
    printed_budget : int or None
        The one among them that the paper gave its method; None if it printed none.
    has_prior : bool
    noise : float
        The standard deviation of the normal noise that is added to every value, and declared.
    has_exact_draws : bool
        Whether ``sample`` can draw any number anew; if not, it takes from a stored reference.
    moments : (mean, covariance), optional
        Those of the truth, where more is known than the draws.
    """

    name: str
    log_likelihood: Callable[[np.ndarray], np.ndarray]
    factors: Sequence[Any]
    log_evidence: float
    sample: Callable[[int, np.random.Generator], np.ndarray]
    budgets: Sequence[int]
    printed_budget: int | None
    has_prior: bool = True
    noise: float = 0.0
    has_exact_draws: bool = True
    moments: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def dimension(self) -> int:
        return len(self.factors)

    def log_joint(self, points: np.ndarray) -> np.ndarray:
        """The log-density whose integral is the evidence."""
        if not self.has_prior:
            return self.log_likelihood(points)
        log_prior = np.sum([each.logpdf(column) for each, column in zip(self.factors, points.T, strict=True)], axis=0)
        inside = np.isfinite(log_prior)
        values = np.full(len(points), -np.inf)
        values[inside] = log_prior[inside] + self.log_likelihood(points[inside])
        return values


def mixture_of(components: Sequence[sb.Gaussian], weights: Sequence[float]) -> sb.GaussianMixture:
    """A mixture whose weights need not sum to one yet."""
    return sb.GaussianMixture(components, np.asarray(weights) / np.sum(weights))


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A density of one number, known up to a constant, on a mesh: its log-integral, and draws by the inverse CDF."""

    mesh: np.ndarray
    log_density: np.ndarray

    @classmethod
    def of(cls, log_density: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> Tabulated:
        mesh = np.linspace(low, high, NUM_MESH)
        return cls(mesh, log_density(mesh))

    @property
    def log_integral(self) -> float:
        peak = self.log_density.max()
        return float(peak + np.log(np.trapezoid(np.exp(self.log_density - peak), self.mesh)))

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        density = np.exp(self.log_density - self.log_density.max())
        steps = np.diff(self.mesh) * (density[1:] + density[:-1])
        cdf = np.concatenate([[0.0], np.cumsum(steps)])
        return np.interp(rng.random(num_points) * cdf[-1], cdf, self.mesh)
