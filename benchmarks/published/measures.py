r"""How far an answer, weighted points and a log-evidence with its error, is from the truth.

Those of ``benchmarks/accuracy/measures.py`` are of 200 equally weighted points; these are the ones that the papers of
the published suites print, of whatever weighted points a method returns, and errors in units of the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from case import Case
from scipy.fft import dct, idct
from scipy.optimize import brentq

import steinbox as sb
from steinbox.numerics.weights import systematic_resample

NUM_EXACT = 100_000
NUM_POINTS, NUM_REFERENCE, NUM_FLOOR = 200, 2_000, 10  # of the maximum mean discrepancy
NUM_MESH = 2**13  # as in the papers' code
TAIL = 1e-6  # of the weight at each end that may lie beyond the mesh
LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method returns: points (n, d), weights (n,) that sum to one, and a log-evidence with its claimed error.

    NaN for a number that the method does not give.
    """

    points: np.ndarray
    weights: np.ndarray
    log_evidence: float = np.nan
    log_evidence_error: float = np.nan
    num_warnings: int | None = None
    particles: np.ndarray | None = None
    """The 200 equally weighted points that it chose itself, if it does."""

    @property
    def few(self) -> np.ndarray:
        """These, or 200 points taken in proportion to their weights."""
        if self.particles is not None:
            return self.particles
        rng = np.random.default_rng(2)
        order = rng.permutation(len(self.points))
        return self.points[order[systematic_resample(self.weights[order], NUM_POINTS, rng)]]


@dataclass(frozen=True)
class Measures:
    """One row's numbers; NaN for what the answer does not contain."""

    log_z_error: float
    """Estimate minus truth; ΔLML is its absolute value."""
    log_z_claimed: float
    """The standard error that the method claims."""
    log_z_score: float
    """The error over the claimed one."""
    mmtv: float
    gskl: float
    """With 1/(2D); times D it is the measure of part C's paper."""
    mean_worst: float
    mean_median: float
    sd_worst: float
    sd_median: float
    quantile_worst: float
    quantile_median: float
    effective_size: float
    """Of the weights alone: 1 / Σ w²."""
    mmd_over_floor: float
    """The maximum mean discrepancy of 200 points over that of 200 exact draws."""


NAMES = tuple(field.name for field in fields(Measures))


@dataclass(frozen=True, eq=False)
class Truth:
    """A case's exact draws and their moments."""

    case: Case
    draws: np.ndarray

    @classmethod
    def of(cls, case: Case) -> Truth:
        return cls(case, case.sample(NUM_EXACT, np.random.default_rng(1)))

    @cached_property
    def mean(self) -> np.ndarray:
        return self.case.moments[0] if self.case.moments else self.draws.mean(axis=0)

    @cached_property
    def cov(self) -> np.ndarray:
        return self.case.moments[1] if self.case.moments else np.cov(self.draws.T)

    @cached_property
    def sd(self) -> np.ndarray:
        return np.sqrt(np.diag(self.cov))

    @cached_property
    def quantiles(self) -> np.ndarray:
        return np.quantile(self.draws, LEVELS, axis=0)

    @cached_property
    def floor(self) -> float:
        """The mean discrepancy of sets of 200 exact draws from the others."""
        draws = self.draws[:NUM_REFERENCE] / self.sd
        sets = np.arange(len(draws)).reshape(-1, NUM_POINTS)[:NUM_FLOOR]
        return float(np.mean([sb.mmd(draws[each], np.delete(draws, each, axis=0)) for each in sets]))

    def compare(self, answer: Answer) -> Measures:
        points, weights = answer.points, answer.weights
        mean, cov = weights @ points, np.cov(points.T, aweights=weights, bias=True)
        quantiles = np.quantile(points, LEVELS, axis=0, weights=weights, method="inverted_cdf")
        log_z_error = answer.log_evidence - self.case.log_evidence
        equal = np.full(len(self.draws), 1 / len(self.draws))
        return Measures(
            log_z_error=log_z_error,
            log_z_claimed=answer.log_evidence_error,
            log_z_score=log_z_error / answer.log_evidence_error if answer.log_evidence_error > 0 else np.nan,
            mmtv=mmtv(points, weights, self.draws, equal),
            gskl=gskl(mean, cov, self.mean, self.cov),
            **_worst_and_median("mean", (mean - self.mean) / self.sd),
            **_worst_and_median("sd", np.sqrt(np.diag(cov)) / self.sd - 1),
            **_worst_and_median("quantile", (quantiles - self.quantiles) / self.sd),
            effective_size=1 / float((weights**2).sum()),
            mmd_over_floor=sb.mmd(answer.few / self.sd, self.draws[:NUM_REFERENCE] / self.sd) / self.floor,
        )


def _worst_and_median(name: str, errors: np.ndarray) -> dict[str, float]:
    """The largest over coordinates, and their median; of several levels, the worst of each coordinate first."""
    each = np.abs(np.atleast_2d(errors)).max(axis=0)
    return {f"{name}_worst": float(each.max()), f"{name}_median": float(np.median(each))}


# -- GsKL --------------------------------------------------------------------------------------------------------------


def gskl(mean: np.ndarray, cov: np.ndarray, other_mean: np.ndarray, other_cov: np.ndarray) -> float:
    r"""The Gaussianized symmetrized Kullback–Leibler divergence, :math:`[KL(N_p, N_q) + KL(N_q, N_p)] / 2D`.

    The determinants cancel in the sum. Infinite if one of the covariances is singular.
    """
    dimension, offset = len(mean), mean - other_mean
    try:
        one, two = np.linalg.inv(cov), np.linalg.inv(other_cov)
    except np.linalg.LinAlgError:
        return np.inf
    twice_sum = np.trace(two @ cov) + np.trace(one @ other_cov) - 2 * dimension + offset @ (one + two) @ offset
    return float(twice_sum / 4 / dimension)


# -- MMTV --------------------------------------------------------------------------------------------------------------


def mmtv(points: np.ndarray, weights: np.ndarray, others: np.ndarray, other_weights: np.ndarray) -> float:
    """The mean over coordinates of the total variation between marginals, both by kernel density estimates."""
    pairs = zip(points.T, others.T, strict=True)
    return float(np.mean([total_variation(x, weights, y, other_weights) for x, y in pairs]))


def total_variation(x: np.ndarray, weights: np.ndarray, y: np.ndarray, other_weights: np.ndarray) -> float:
    """Half the integral of the absolute difference of two densities, each estimated on the same mesh."""
    ends = np.array([_range(x, weights), _range(y, other_weights)])
    low, high = ends[:, 0].min(), ends[:, 1].max()
    margin = 0.1 * (high - low)
    low, high = low - margin, high + margin
    one, two = (smoothed(*sample, low, high) for sample in ((x, weights), (y, other_weights)))
    return float(np.clip(0.5 * np.abs(one - two).sum(), 0, 1))


def _range(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.quantile(x, [TAIL, 1 - TAIL], weights=weights, method="inverted_cdf")


def smoothed(x: np.ndarray, weights: np.ndarray, low: float, high: float) -> np.ndarray:
    """The masses of a kernel density estimate in the cells of the mesh, by the heat equation with its own bandwidth."""
    counts, _ = np.histogram(np.clip(x, low, high), NUM_MESH, (low, high), weights=weights)
    coefficients, time = dct(counts) / 2, diffusion_time(counts, 1 / (weights**2).sum())
    damping = np.exp(-0.5 * (np.arange(NUM_MESH) * np.pi) ** 2 * time)
    masses = np.maximum(idct(2 * coefficients * damping), 0)
    return masses / masses.sum()


def diffusion_time(counts: np.ndarray, num_points: float) -> float:
    r"""The square of the bandwidth, in units of the mesh's length, for a histogram whose counts sum to one.

    The fixed point :math:`t = \xi\gamma^{[5]}(t)` of Botev, Grotowski & Kroese (2010, *Annals of Statistics* 38), which
    does not assume that the density is near a normal one; a weighted sample counts as as many points as it is worth.
    Where there is no fixed point, the best bandwidth for a normal density.
    """
    squares = np.arange(1, len(counts), dtype=np.float64) ** 2
    powers = (dct(counts)[1:] / 2) ** 2

    def roughness(order: int, time: float) -> float:
        """The integral of the squared derivative of this order."""
        return 2 * np.pi ** (2 * order) * float((squares**order * powers * np.exp(-squares * np.pi**2 * time)).sum())

    def excess(time: float) -> float:
        norm = roughness(7, time)
        for order in range(6, 1, -1):
            odd = np.prod(np.arange(1, 2 * order, 2)) / np.sqrt(2 * np.pi)
            pilot = (2 * (1 + 0.5 ** (order + 0.5)) / 3 * odd / num_points / norm) ** (2 / (3 + 2 * order))
            norm = roughness(order, pilot)
        return time - (2 * num_points * np.sqrt(np.pi) * norm) ** (-0.4)

    for largest in (1e-3, 1e-2, 1e-1):
        if excess(1e-12) < 0 < excess(largest):
            return float(brentq(excess, 1e-12, largest))
    places = (np.arange(len(counts)) + 0.5) / len(counts)
    variance = counts @ places**2 - (counts @ places) ** 2
    return float(variance * (4 / 3 / num_points) ** 0.4)
