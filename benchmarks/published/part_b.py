r"""Part B: Rosenbrock–Gaussian, Lotka–Volterra and the bimodal ring of regression on evaluated points.

C. Li, B. Huggins, P. Mikkola & L. Acerbi (2025). Normalizing flow regression for Bayesian inference with offline
likelihood evaluations. 3,000 D evaluations, taken from searches by CMA-ES. The bimodal ring is of its predecessor, VSBQ
(C. Li, G. Clarté, M. Jørgensen & L. Acerbi, 2024); no figures of it are printed here. Their lumpy target in ten
dimensions is left out: its draw is not public, and part C has the family.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from case import Case, Tabulated
from scipy import stats
from scipy.special import i0

RESULTS = Path(__file__).parent.parent / "results" / "published"
REFERENCE = RESULTS / "lotka_volterra_reference.npz"
EVALS_PER_DIMENSION = (500, 1_000, 3_000)


def budgets(dimension: int) -> tuple[int, ...]:
    return tuple(each * dimension for each in EVALS_PER_DIMENSION)


# -- Rosenbrock–Gaussian -----------------------------------------------------------------------------------------------


def rosenbrock_gaussian_log_likelihood(points: np.ndarray) -> np.ndarray:
    x, y = points[:, [0, 2]], points[:, [1, 3]]
    return -((x**2 - y) ** 2 + (x - 1) ** 2 / 100).sum(axis=1) - 0.5 * (points[:, 4:] ** 2).sum(axis=1)


def rosenbrock_gaussian() -> Case:
    r"""Two pairs (x, y) and two Gaussians; prior N(0, 9).

    y integrates out: :math:`\int e^{-(x^2-y)^2} N(y; 0, 9)\, dy = \sqrt{\pi}\, N(x^2; 0, 9.5)`.
    """

    def log_marginal(x: np.ndarray) -> np.ndarray:
        log_pair = stats.norm.logpdf(x, 0, 3) + stats.norm.logpdf(x**2, 0, np.sqrt(9.5)) + 0.5 * np.log(np.pi)
        return log_pair - (x - 1) ** 2 / 100

    marginal = Tabulated.of(log_marginal, -5.0, 5.0)

    def sample(num_points: int, rng: np.random.Generator) -> np.ndarray:
        columns = []
        for _ in range(2):
            x = marginal.sample(num_points, rng)
            columns += [x, 18 / 19 * x**2 + np.sqrt(9 / 19) * rng.standard_normal(num_points)]
        return np.column_stack([*columns, np.sqrt(0.9) * rng.standard_normal((num_points, 2))])

    log_evidence = 2 * marginal.log_integral - np.log(10.0)  # of each Gaussian: 1 / sqrt(1 + 9)
    prior = [stats.norm(0, 3)] * 6
    name, printed = "rosenbrock-gaussian", 3_000 * 6
    return Case(name, rosenbrock_gaussian_log_likelihood, prior, float(log_evidence), sample, budgets(6), printed)


# -- bimodal -----------------------------------------------------------------------------------------------------------

RADIUS, WIDTH, CONCENTRATION = np.sqrt(0.5), 0.1, 8.0


def bimodal_log_density(points: np.ndarray) -> np.ndarray:
    r = np.hypot(*points.T)
    cosine = np.divide(points[:, 0], r, out=np.ones_like(r), where=r > 0)
    sides = np.logaddexp(CONCENTRATION * cosine - np.log(3), -CONCENTRATION * cosine + np.log(2 / 3))
    return -0.5 * ((r - RADIUS) / WIDTH) ** 2 + sides


def bimodal() -> Case:
    """A ring with a third of its mass on the right and two thirds on the left; start uniform in [−3, 3]²."""
    radial = Tabulated.of(lambda r: np.log(np.maximum(r, 1e-300)) - 0.5 * ((r - RADIUS) / WIDTH) ** 2, 0.0, 2.0)

    def sample(num_points: int, rng: np.random.Generator) -> np.ndarray:
        centers = np.where(rng.random(num_points) < 1 / 3, 0.0, np.pi)
        angles = rng.vonmises(centers, CONCENTRATION)
        return radial.sample(num_points, rng)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])

    log_evidence = float(radial.log_integral + np.log(2 * np.pi * i0(CONCENTRATION)))
    start = [stats.uniform(-3, 6)] * 2
    return Case("bimodal", bimodal_log_density, start, log_evidence, sample, budgets(2), None, has_prior=False)


# -- Lotka–Volterra ----------------------------------------------------------------------------------------------------

HARE = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNX = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
LOG_COUNTS = np.log([[float(word) for word in text.split()] for text in (HARE, LYNX)])  # (2, 21), years 0 to 20
STEPS_PER_YEAR = 20
PARAMETERS = ("alpha", "beta", "gamma", "delta", "u0", "v0", "sigma_u", "sigma_v")


def log_states(points: np.ndarray) -> np.ndarray:
    """The logarithms of both populations in each year, (2, 21, n): Runge–Kutta of fourth order in the logarithms."""
    alpha, beta, gamma, delta, u0, v0 = points[:, :6].T
    growth, coupling = np.array([alpha, -gamma]), np.array([-beta, delta])
    step = 1 / STEPS_PER_YEAR
    state = np.log([u0, v0])
    states = [state]

    def slope(logs: np.ndarray) -> np.ndarray:
        return growth + coupling * np.exp(logs[::-1])

    for _ in range(LOG_COUNTS.shape[1] - 1):
        for _ in range(STEPS_PER_YEAR):
            one = slope(state)
            two = slope(state + 0.5 * step * one)
            three = slope(state + 0.5 * step * two)
            four = slope(state + step * three)
            state = state + step / 6 * (one + 2 * two + 2 * three + four)
        states.append(state)
    return np.stack(states, axis=1)


def lotka_volterra_log_likelihood(points: np.ndarray) -> np.ndarray:
    """The lognormal density of all counts; zero where the equations have no solution in floating point."""
    with np.errstate(over="ignore", invalid="ignore"):
        sds = points[:, 6:].T[:, None, :]
        residuals = (LOG_COUNTS[:, :, None] - log_states(points)) / sds
        values = (-0.5 * residuals**2 - np.log(sds) - 0.5 * np.log(2 * np.pi) - LOG_COUNTS[:, :, None]).sum(axis=(0, 1))
    return np.where(np.isfinite(values), values, -np.inf)


def lotka_volterra_prior() -> list:
    return [
        *[_positive_normal(mean, sd) for mean, sd in ((1, 0.5), (0.05, 0.05), (1, 0.5), (0.05, 0.05))],
        *[stats.lognorm(1.0, scale=10.0)] * 2,
        *[stats.lognorm(1.0, scale=np.exp(-1.0))] * 2,
    ]


def _positive_normal(mean: float, sd: float):
    return stats.truncnorm(-mean / sd, np.inf, mean, sd)


@cache
def lotka_volterra_reference() -> dict[str, np.ndarray]:
    """Draws and log-evidence by ``lotka_volterra_reference.py``."""
    with np.load(REFERENCE) as file:
        return dict(file)


def lotka_volterra() -> Case:
    """Hares and lynxes, 1900 to 1920; the prior is normalized after the cut at zero."""
    reference = lotka_volterra_reference()
    draws = reference["draws"].astype(np.float64)

    def sample(num_points: int, rng: np.random.Generator) -> np.ndarray:
        return draws if num_points >= len(draws) else rng.choice(draws, num_points, replace=False)

    prior, log_evidence = lotka_volterra_prior(), float(reference["log_evidence"])
    return Case(
        "lotka-volterra",
        lotka_volterra_log_likelihood,
        prior,
        log_evidence,
        sample,
        budgets(len(prior)),
        3_000 * len(prior),
        has_exact_draws=False,
    )


def cases() -> list[Case]:
    return [bimodal(), rosenbrock_gaussian(), lotka_volterra()]
