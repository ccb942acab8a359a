r"""Part D: LogGamma in 5 to 50 dimensions, the funnel in 20 and Rosenbrock's function in 10, in the unit cube.

J. U. Lange (2023). nautilus: boosting Bayesian importance nested sampling with deep learning. *Monthly Notices of the
Royal Astronomical Society* 525. Uniform prior on the cube. The paper prints figures; no numbers were found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from case import Case, Tabulated
from scipy import stats
from scipy.interpolate import CubicSpline
from scipy.special import ndtr

import steinbox as sb

SCALE = 1 / 30
LOG_GAMMA_DIMENSIONS = (5, 10, 15, 20, 25, 30, 40, 50)
BUDGETS = (10_000, 20_000)
CORRELATION, FUNNEL_DIMENSION = 0.95, 20
ROSENBROCK_DIMENSION, HALF_WIDTH = 10, 5.0
STEP_SD = np.sqrt(1 / 200)  # of a coordinate of Rosenbrock's function given the one before
NUM_ROSENBROCK_MESH = 2_001
STEPS = np.arange(-8, 8.01, 0.25)  # a mesh for that coordinate, in such standard deviations

LogDensity = Callable[[np.ndarray], np.ndarray]


def log_gamma(x: np.ndarray, location: float) -> np.ndarray:
    y = (x - location) / SCALE
    return y - np.exp(y) - np.log(SCALE)


def normal(x: np.ndarray, location: float) -> np.ndarray:
    return stats.norm.logpdf(x, location, SCALE)


def two(log_density: Callable[[np.ndarray, float], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Half at one third, half at two thirds."""
    return np.logaddexp(log_density(x, 1 / 3), log_density(x, 2 / 3)) - np.log(2)


def log_gamma_factors(dimension: int) -> list[LogDensity]:
    """The log-density of each coordinate."""
    num_skewed = (dimension + 2) // 2 - 2
    return [
        lambda x: two(log_gamma, x),
        lambda x: two(normal, x),
        *[lambda x: log_gamma(x, 2 / 3)] * num_skewed,
        *[lambda x: normal(x, 2 / 3)] * (dimension - 2 - num_skewed),
    ]


def log_gamma_case(dimension: int) -> Case:
    factors = log_gamma_factors(dimension)
    marginals = [Tabulated.of(each, 0.0, 1.0) for each in factors]

    def log_likelihood(points: np.ndarray) -> np.ndarray:
        return np.sum([each(column) for each, column in zip(factors, points.T, strict=True)], axis=0)

    def sample(num_points: int, rng: np.random.Generator) -> np.ndarray:
        return np.column_stack([each.sample(num_points, rng) for each in marginals])

    log_evidence = sum(each.log_integral for each in marginals)
    return make(f"loggamma-{dimension}", dimension, log_likelihood, log_evidence, sample)


def funnel() -> Case:
    """One coordinate v ~ N(0, 1), the others N(0, e^v) with correlation .95; twenty units are one side of the cube."""
    d, side = FUNNEL_DIMENSION, 20.0
    unit = sb.Gaussian(np.zeros(d - 1), cov=(1 - CORRELATION) * np.eye(d - 1) + CORRELATION)

    def log_likelihood(points: np.ndarray) -> np.ndarray:
        v, y = side * (points[:, 0] - 0.5), side * (points[:, 1:] - 0.5)
        conditional = unit.log_prob(y * np.exp(-0.5 * v)[:, None]) - 0.5 * (d - 1) * v
        return stats.norm.logpdf(v) + conditional + d * np.log(side)

    def sample(num_points: int, rng: np.random.Generator) -> np.ndarray:
        v = rng.standard_normal(2 * num_points)
        y = np.exp(0.5 * v)[:, None] * unit.sample(2 * num_points, rng)
        points = 0.5 + np.column_stack([v, y]) / side
        return points[(np.abs(points - 0.5) < 0.5).all(axis=1)][:num_points]

    return make(f"funnel-{d}", d, log_likelihood, funnel_log_evidence(), sample)


def funnel_log_evidence() -> float:
    """The logarithm of the share inside the cube: given v and what is common to all y, these are independent."""
    v, common = np.linspace(-9, 9, 1_801), np.linspace(-9, 9, 1_801)
    half = 10 * np.exp(-0.5 * v)[:, None]
    shift, width = np.sqrt(CORRELATION) * common, np.sqrt(1 - CORRELATION)
    each = ndtr((half - shift) / width) - ndtr((-half - shift) / width)
    inside = np.trapezoid(each ** (FUNNEL_DIMENSION - 1) * stats.norm.pdf(common), common, axis=1)
    return float(np.log(np.trapezoid(inside * stats.norm.pdf(v), v)))


class Rosenbrock:
    r"""exp −Σ [100 (z_{i+1} − z_i²)² + (1 − z_i)²] on [−5, 5]^d, a Markov chain along the coordinates.

    With :math:`m_d = 1` and :math:`m_i(z) = e^{-(1-z)^2} \int e^{-100 (z' - z^2)^2} m_{i+1}(z')\, dz'`, the integral is
    that of :math:`m_1`, and z_{i+1} given z_i has density proportional to :math:`e^{-100 (z' - z_i^2)^2} m_{i+1}(z')`.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        mesh = np.linspace(-HALF_WIDTH, HALF_WIDTH, NUM_ROSENBROCK_MESH)
        self.messages, log_message = [CubicSpline(mesh, np.zeros_like(mesh))], np.zeros_like(mesh)
        squares = np.linspace(0, HALF_WIDTH**2, NUM_ROSENBROCK_MESH)
        log_kernel = -100 * (mesh - squares[:, None]) ** 2
        for _ in range(dimension - 1):
            log_smoothed = _log_trapezoid(log_kernel + log_message, mesh)
            log_message = CubicSpline(squares, log_smoothed)(mesh**2) - (1 - mesh) ** 2
            self.messages.insert(0, CubicSpline(mesh, log_message))
        self.first = Tabulated.of(self.messages[0], -HALF_WIDTH, HALF_WIDTH)

    @staticmethod
    def log_density(z: np.ndarray) -> np.ndarray:
        return -(100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + (1 - z[:, :-1]) ** 2).sum(axis=1)

    @property
    def log_integral(self) -> float:
        return self.first.log_integral

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        columns = [self.first.sample(num_points, rng)]
        for message in self.messages[1:]:
            columns.append(np.concatenate([self._step(z, message, rng) for z in np.array_split(columns[-1], 20)]))
        return np.column_stack(columns)

    def _step(self, z: np.ndarray, message: CubicSpline, rng: np.random.Generator) -> np.ndarray:
        """The next coordinate given this one, on a mesh around its square that moves by a part of a cell."""
        offsets = STEPS + (STEPS[1] - STEPS[0]) * (rng.random((len(z), 1)) - 0.5)
        following = z[:, None] ** 2 + STEP_SD * offsets
        inside = np.abs(following) < HALF_WIDTH
        log_weights = np.where(
            inside, -0.5 * offsets**2 + message(np.clip(following, -HALF_WIDTH, HALF_WIDTH)), -np.inf
        )
        cdf = np.exp(log_weights - log_weights.max(axis=1, keepdims=True)).cumsum(axis=1)
        chosen = (cdf < rng.random((len(z), 1)) * cdf[:, -1:]).sum(axis=1)
        return following[np.arange(len(z)), chosen]


def _log_trapezoid(log_values: np.ndarray, mesh: np.ndarray) -> np.ndarray:
    peaks = log_values.max(axis=1)
    return peaks + np.log(np.trapezoid(np.exp(log_values - peaks[:, None]), mesh, axis=1))


def rosenbrock() -> Case:
    d, side = ROSENBROCK_DIMENSION, 2 * HALF_WIDTH
    chain = Rosenbrock(d)
    return make(
        f"rosenbrock-{d}",
        d,
        lambda x: chain.log_density(side * (x - 0.5)),
        chain.log_integral - d * np.log(side),
        lambda num_points, rng: 0.5 + chain.sample(num_points, rng) / side,
    )


def make(name: str, dimension: int, log_likelihood: LogDensity, log_evidence: float, sample) -> Case:
    return Case(name, log_likelihood, [stats.uniform()] * dimension, log_evidence, sample, BUDGETS, None)


def cases() -> list[Case]:
    return [*[log_gamma_case(dimension) for dimension in LOG_GAMMA_DIMENSIONS], funnel(), rosenbrock()]
