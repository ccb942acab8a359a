"""A posterior of real data: one density for NumPy and JAX, and where a user would start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

LOG_2PI = np.log(2 * np.pi)


@dataclass(frozen=True)
class Backend:
    """What a density may use: an array module, and functions that differ between NumPy and JAX."""

    np: Any
    gammaln: Callable
    scan: Callable
    """``scan(step, state, rows)``: the last state, and the sum of what ``step(state, row) -> (state, value)`` gives."""


def numpy_scan(step: Callable, state: Any, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    total = 0.0
    for row in rows:
        state, value = step(state, row)
        total = total + value
    return state, total


NUMPY = Backend(np, special.gammaln, numpy_scan)
Density = Callable[[Any, Backend], Any]


@dataclass(frozen=True, eq=False)
class Posterior:
    """A posterior over unbounded parameters.

    Parameters
    ----------
    name : str
    about : str
        What it is, for the docs.
    density : callable
        ``density(points, backend)`` of (…, d) points, with all constants: its integral is the evidence.
    start : sequence of (mean, sd)
        Rough guesses of each parameter: where a user would begin.
    swap : callable, optional
        ``swap(points)`` of (…, d) points has the labels swapped, which leaves the density unchanged.
    easier : (function that makes a model, callable), optional
        A model of other parameters, and the map from them to these: the reference is drawn there.
    """

    name: str
    about: str
    density: Density
    start: Sequence[tuple[float, float]]
    swap: Callable[[np.ndarray], np.ndarray] | None = None
    easier: tuple[Callable[[], Posterior], Callable[[np.ndarray], np.ndarray]] | None = None

    @property
    def dimension(self) -> int:
        return len(self.start)

    def log_prob(self, points: np.ndarray) -> np.ndarray:
        """(n, d) -> (n,); minus infinity where floating point ends."""
        with np.errstate(all="ignore"):
            values = self.density(points, NUMPY)
        return np.where(np.isnan(values), -np.inf, values)


# -- densities of the usual kinds, with their constants ----------------------------------------------------------------


def normal(b: Backend, x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - b.np.log(sd) - 0.5 * LOG_2PI


def student(b: Backend, x, mean, sd, dof):
    norm = b.gammaln((dof + 1) / 2) - b.gammaln(dof / 2) - 0.5 * b.np.log(dof * np.pi) - b.np.log(sd)
    return norm - (dof + 1) / 2 * b.np.log1p(((x - mean) / sd) ** 2 / dof)


def half_normal_log(b: Backend, log_x, scale):
    """Of log x, x being half-normal."""
    return 0.5 * np.log(2 / np.pi) - np.log(scale) - 0.5 * (b.np.exp(log_x) / scale) ** 2 + log_x


def gamma_log(b: Backend, log_x, shape, rate):
    """Of log x, x having a gamma distribution."""
    return shape * np.log(rate) - special.gammaln(shape) + shape * log_x - rate * b.np.exp(log_x)


def logistic_density(b: Backend, x):
    """Of x, the logistic function of x being uniform."""
    return -x - 2 * b.np.logaddexp(0.0, -x)


def bernoulli(b: Backend, outcome, logit):
    return outcome * logit - b.np.logaddexp(0.0, logit)


def poisson(b: Backend, count, log_rate):
    return count * log_rate - b.np.exp(log_rate) - special.gammaln(count + 1)
