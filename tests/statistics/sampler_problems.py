"""Targets with exact moments, the samplers to try on them, and ways to break a sampler."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, polygamma

import steinbox as sb
from steinbox.samplers.stein.drive import Drive
from steinbox.samplers.stein.sampler import SteinMethod


class Skewed:
    """Independent logarithms of Gamma(3) and Gamma(6) variables: smooth, skewed to the left, moments by polygamma."""

    shape = np.array([3.0, 6.0])
    mean = digamma(shape)
    cov = np.diag(polygamma(1, shape))

    def log_prob(self, x):
        return (self.shape * x - np.exp(x)).sum(axis=1)

    def score(self, x):
        return self.shape - np.exp(x)


TARGETS = {
    "gaussian": sb.Gaussian([1.0, -1.0], cov=[[1.0, 0.5], [0.5, 1.0]]),
    "skewed": Skewed(),
    "two components": sb.GaussianMixture([sb.Gaussian([-1.2, 0.0], std=0.8), sb.Gaussian([1.2, 0.5], std=0.8)], [2, 1]),
}
INITIAL = sb.Gaussian([0.0, 0.0], std=1.2)


@dataclass(frozen=True)
class Tempered:
    """The over-dispersed surrogate p^0.6: as the paper advises it covers p well, and ρ/p is bounded."""

    target: object

    def log_prob(self, x):
        return 0.6 * self.target.log_prob(x)

    def score(self, x):
        return 0.6 * self.target.score(x)


SAMPLERS = {
    "svgd": lambda target: sb.SVGD(num_iterations=200),
    "annealed svgd": lambda target: sb.AnnealedSVGD(num_iterations=200),
    "annealed svgd from a constant": lambda target: sb.AnnealedSVGD(
        num_iterations=300,
        base=sb.surrogates.Flat(),
        schedule=sb.Schedule(fraction=0.5, power=1.0),
        coordinates=sb.coordinates.Plain(),
        optimizer=sb.optimizers.Adam(0.1, memory=0.9, decay=sb.optimizers.CosineDecay(start=0.5)),
    ),
    "gf-svgd, given surrogate": lambda target: sb.GFSVGD(num_iterations=200, surrogate=Tempered(target)),
    "gf-svgd, interpolant": lambda target: sb.GFSVGD(num_iterations=50),
    "annealed gf-svgd, interpolant": lambda target: sb.AnnealedGFSVGD(num_iterations=50),
    "annealed gf-svgd, kernel curve": lambda target: sb.AnnealedGFSVGD(
        num_iterations=200, surrogate=sb.surrogates.KernelCurve(), bandwidth="paper"
    ),
}


@dataclass(frozen=True)
class ZeroSteps:
    """An optimiser that does nothing."""

    optimizer: object

    def __getattr__(self, name):
        return getattr(self.optimizer, name)

    def step(self, direction, state, progress):
        return np.zeros_like(direction), state


@dataclass(frozen=True)
class FlippedSign(ZeroSteps):
    """An optimiser that walks the wrong way."""

    def step(self, direction, state, progress):
        return self.optimizer.step(-direction, state, progress)


@dataclass(frozen=True)
class Unweighted(Drive):
    """A drive without its importance weights."""

    drive: Drive

    @property
    def num_history(self):
        return self.drive.num_history

    def force(self, values):
        force = self.drive.force(values)
        return dataclasses.replace(force, log_weights=np.zeros_like(force.log_weights))


def drop_weights(sampler: SteinMethod) -> SteinMethod:
    """The same method, blind to its importance weights."""

    class Dropped(type(sampler)):
        def plan(self, problem):
            flow = super().plan(problem)
            return dataclasses.replace(flow, drive=Unweighted(flow.drive))

    return Dropped(**{field.name: getattr(sampler, field.name) for field in dataclasses.fields(sampler)})


BREAK = {
    "zero steps": lambda sampler: dataclasses.replace(sampler, optimizer=ZeroSteps(sampler.optimizer)),
    "flipped sign": lambda sampler: dataclasses.replace(sampler, optimizer=FlippedSign(sampler.optimizer)),
    "dropped weights": drop_weights,
}


def recovery_error(sampler: SteinMethod, target, seed: int) -> float:
    """The worst of: a mean's error in standard deviations, a variance's error in logarithms."""
    result = sb.sample(
        target.log_prob, INITIAL, method=sampler, score=target.score, num_particles=60, vectorized=True, seed=seed
    )
    variances = np.diag(target.cov)
    mean_error = np.abs(result.mean - target.mean) / np.sqrt(variances)
    with np.errstate(divide="ignore"):
        return float(np.max([mean_error, np.abs(np.log(np.diag(result.cov) / variances))]))
