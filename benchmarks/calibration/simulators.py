"""Models whose prior draws parameters and whose likelihood draws data: what a calibrated posterior is tested on.

They were written before the first run and not changed after it. Each is given to the sampler as a user would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import xlogy

import steinbox as sb

LogLikelihood = Callable[[np.ndarray, Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Simulator:
    """A model of data.

    Parameters
    ----------
    name, about : str
    parameters : sequence of str
    draw : callable
        ``draw(rng)`` -> parameters (d,) from the prior.
    simulate : callable
        ``simulate(parameters, rng)`` -> data from the likelihood.
    log_likelihood : callable
        ``(points, data)``, (n, d) -> (n,).
    posterior : callable
        ``posterior(data)`` -> the first two arguments of ``sb.sample``.
    """

    name: str
    about: str
    parameters: Sequence[str]
    draw: Callable[[np.random.Generator], np.ndarray]
    simulate: Callable[[np.ndarray, np.random.Generator], Any]
    log_likelihood: LogLikelihood
    posterior: Callable[[Any], tuple[Any, Any]]


# -- a hierarchy -------------------------------------------------------------------------------------------------------

NUM_GROUPS, GROUP_SIZE = 6, 4
MEAN_SCALE, BETWEEN_SCALE, WITHIN_SCALE = 3.0, 2.0, 0.5


def hierarchy() -> Simulator:
    """Effects of groups, their mean, and two unknown scales, written as it stands in a textbook: centred."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        mean, between = MEAN_SCALE * rng.standard_normal(), np.abs(BETWEEN_SCALE * rng.standard_normal())
        effects = mean + between * rng.standard_normal(NUM_GROUPS)
        return np.array([*effects, mean, np.log(between), WITHIN_SCALE * rng.standard_normal()])

    def simulate(parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = np.exp(parameters[-1]) * rng.standard_normal((NUM_GROUPS, GROUP_SIZE))
        return parameters[:NUM_GROUPS, None] + noise

    def log_likelihood(points: np.ndarray, data: np.ndarray) -> np.ndarray:
        effects, log_within = points[:, :NUM_GROUPS, None], points[:, -1, None, None]
        return stats.norm.logpdf(data, effects, np.exp(log_within)).sum(axis=(1, 2))

    def log_prior(points: np.ndarray) -> np.ndarray:
        mean, log_between, log_within = points[:, -3:].T
        between = np.exp(log_between)
        scales = stats.halfnorm.logpdf(between, scale=BETWEEN_SCALE) + log_between
        scales += stats.norm.logpdf(log_within, scale=WITHIN_SCALE)
        effects = stats.norm.logpdf(points[:, :NUM_GROUPS], mean[:, None], between[:, None]).sum(axis=1)
        return effects + stats.norm.logpdf(mean, scale=MEAN_SCALE) + scales

    def posterior(data: np.ndarray) -> tuple[Any, Any]:
        start = [stats.norm(0, 4)] * NUM_GROUPS + [stats.norm(0, 3), stats.norm(0, 1), stats.norm(0, 0.5)]
        return lambda points: log_likelihood(points, data) + log_prior(points), start

    names = [f"effect {k + 1}" for k in range(NUM_GROUPS)] + ["mean", "log sd between", "log sd within"]
    about = "six groups of four normal values, centred; both scales unknown"
    return Simulator("hierarchy", about, names, draw, simulate, log_likelihood, posterior)


# -- a logistic regression ---------------------------------------------------------------------------------------------

NUM_ROWS, NUM_SLOPES, SLOPE_SCALE = 60, 5, 1.5


def logistic() -> Simulator:
    """An intercept and five slopes of correlated features; some data sets can be told apart without an error."""
    shared = np.random.default_rng(2018).standard_normal((NUM_ROWS, NUM_SLOPES + 1))
    design = np.column_stack([np.ones(NUM_ROWS), 0.8 * shared[:, 1:] + 0.6 * shared[:, :1]])

    def draw(rng: np.random.Generator) -> np.ndarray:
        return SLOPE_SCALE * rng.standard_normal(NUM_SLOPES + 1)

    def simulate(parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.random(NUM_ROWS) < 1 / (1 + np.exp(-design @ parameters))

    def log_likelihood(points: np.ndarray, data: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, np.where(data, -1, 1) * (points @ design.T)).sum(axis=1)

    def posterior(data: np.ndarray) -> tuple[Any, Any]:
        prior = [stats.norm(0, SLOPE_SCALE)] * (NUM_SLOPES + 1)
        return sb.Model(lambda points: log_likelihood(points, data), prior=prior), None

    names = ["intercept", *(f"slope {k + 1}" for k in range(NUM_SLOPES))]
    about = "60 rows, five correlated features"
    return Simulator("logistic", about, names, draw, simulate, log_likelihood, posterior)


# -- an epidemic -------------------------------------------------------------------------------------------------------

POPULATION, NUM_DAYS, EVERY, STEPS_A_DAY = 1_000, 60, 3, 2
EPIDEMIC_PRIOR = {
    "infection rate": stats.lognorm(0.4, scale=0.4),
    "recovery rate": stats.lognorm(0.4, scale=0.2),
    "first infected": stats.lognorm(0.8, scale=5.0),
    "share seen": stats.beta(2, 2),
}


def new_cases(infection: np.ndarray, recovery: np.ndarray, infected: np.ndarray) -> np.ndarray:
    """How many of the susceptible fall ill in each period, (n, periods), by the Runge–Kutta method of order four."""

    def slope(state: np.ndarray) -> np.ndarray:
        new = infection * state[0] * state[1] / POPULATION
        return np.array([-new, new - recovery * state[1]])

    step = 1 / STEPS_A_DAY
    state = np.array([POPULATION - infected, infected])
    susceptible = [state[0]]
    for k in range(NUM_DAYS * STEPS_A_DAY):
        one = slope(state)
        two = slope(state + step / 2 * one)
        three = slope(state + step / 2 * two)
        four = slope(state + step * three)
        state = state + step / 6 * (one + 2 * two + 2 * three + four)
        if (k + 1) % (EVERY * STEPS_A_DAY) == 0:
            susceptible.append(state[0])
    return np.maximum(-np.diff(susceptible, axis=0).T, 1e-12)


def epidemic() -> Simulator:
    """Cases that were seen, by periods of three days, Poisson around the solution of three differential equations."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        return np.array([prior.rvs(random_state=rng) for prior in EPIDEMIC_PRIOR.values()])

    def expected(points: np.ndarray) -> np.ndarray:
        infection, recovery, infected, share = points.T
        return share[:, None] * new_cases(infection, recovery, infected)

    def simulate(parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(expected(parameters[None])[0])

    def log_likelihood(points: np.ndarray, data: np.ndarray) -> np.ndarray:
        means = expected(points)
        return (xlogy(data, means) - means).sum(axis=1)

    def posterior(data: np.ndarray) -> tuple[Any, Any]:
        def of_named(p: dict[str, np.ndarray]) -> np.ndarray:
            return log_likelihood(np.column_stack([p[name] for name in EPIDEMIC_PRIOR]), data)

        return sb.Model(of_named, prior=EPIDEMIC_PRIOR), None

    about = "susceptible, infected, recovered; a share of the cases is seen"
    return Simulator("epidemic", about, list(EPIDEMIC_PRIOR), draw, simulate, log_likelihood, posterior)


SIMULATORS = {each.name: each for each in (hierarchy(), logistic(), epidemic())}
