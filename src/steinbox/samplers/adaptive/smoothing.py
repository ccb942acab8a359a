"""Smoothing (prototype)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.density import Density
from steinbox.maps.coordinates import Affine, Whitened
from steinbox.numerics.low_rank_regression import LowRankRegression
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.weights import normalize, systematic_resample, temper
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive, finite_log_weights

LENGTH_SCALES = (0.01, 0.04, 0.16, 0.64, 2.5, 10.0)  # l^2/d
AMPLITUDES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # nats
MISFITS = (0.05, 0.5, 2.0, 8.0)  # of the noise
MAX_CENTERS = 200
MAX_QUADRATIC = 300
NUM_SELECT = 600
SELECT_CENTERS = 100
SLACK = 0.1
SWEEPS = 2
VERBOSE = False
ON = True
LAST = {}


@dataclass(frozen=True, eq=False)
class Smoothed:
    log_prob: Array
    log_evidence_std: float


def smooth(archive: WeightedArchive, observed: Array, std: float, base: Density | None) -> Smoothed:
    inside = np.flatnonzero(np.isfinite(observed))
    points, values = archive.points[inside], observed[inside]
    if len(inside) < 10:
        return Smoothed(archive.log_prob, np.nan)
    current = archive.log_prob[inside]
    log_weights = current - archive.log_proposed[inside]
    power = temper(log_weights, max(0.2 * len(inside), min(50, 0.5 * len(inside))))
    chosen = systematic_resample(normalize(power * log_weights), 1000, np.random.default_rng(0))
    coordinates = Whitened().fit(points[chosen])
    z = coordinates.forward(points)
    gap = current.max() - current
    misfit = SLACK * gap
    offsets = [np.zeros(len(z))]
    if base is not None:
        offsets.append(np.maximum(base.log_prob(points), -1e5))
    centers = _spread(z[chosen], MAX_CENTERS)
    rows = np.arange(len(z))[:: -(-len(z) // NUM_SELECT)]
    some = centers[:: -(-len(centers) // SELECT_CENTERS)]
    cache = {}
    def score(c):
        if c not in cache:
            scale, amplitude, relative, b = c
            trend, kernel = _features(z[rows], some, scale)
            y = values[rows] - offsets[b][rows]
            y = y - np.median(y)
            total = np.sqrt(misfit[rows] ** 2 + (relative * std) ** 2)
            cache[c] = LowRankRegression(np.column_stack([trend * 30 * _spread_of(y, std), amplitude * kernel]), y, std, total).log_likelihood
        return cache[c]
    grids = (LENGTH_SCALES, AMPLITUDES, MISFITS, tuple(range(len(offsets))))
    best = (0.64, 10.0, 0.5, len(offsets) - 1)
    for _ in range(SWEEPS):
        for k in (1, 0, 2, 3):
            best = max(((*best[:k], v, *best[k + 1 :]) for v in grids[k]), key=score)
    scale, amplitude, relative, b = best
    trend, kernel = _features(z, centers, scale)
    y = values - offsets[b]
    center = np.median(y)
    reg = LowRankRegression(np.column_stack([trend * 30 * _spread_of(y, std), amplitude * kernel]), y - center, std, np.sqrt(misfit**2 + (relative * std) ** 2))
    left = reg.noise_variance
    mean = reg.mean + center + offsets[b]
    log_prob = np.full(len(observed), -np.inf)
    log_prob[inside] = mean - left / 2
    w = normalize(log_prob - archive.log_proposed)[inside]
    LAST.update(left=w @ left, own=w @ (reg.noise**2 * reg._own**2), sd=np.sqrt(reg.variance_of_mean(w)), best=best)
    if VERBOSE:
        print(f"n={len(values)} scale={scale} base={b} amp={amplitude} rel={relative} left={w @ left:.3f} sd={np.sqrt(reg.variance_of_mean(w)):.3f} ess={1/(w@w):.0f}")
    return Smoothed(log_prob, float(np.sqrt(reg.variance_of_mean(w))))


def _spread_of(y, std):
    return std + np.subtract(*np.quantile(y, [0.9, 0.1]))


def _spread(z: Array, number: int) -> Array:
    return np.unique(z[:: max(1, len(z) // number)], axis=0)[:number]


def _features(z: Array, centers: Array, scale: float) -> tuple[Array, Array]:
    d = z.shape[1]
    i, j = np.triu_indices(d)
    if 1 + d + len(i) > MAX_QUADRATIC:
        i = j = np.arange(d)
    trend = np.column_stack([np.ones(len(z)), z, z[:, i] * z[:, j]])
    bandwidth = 2 * scale * d
    gram = np.exp(-squared_distances(centers, centers) / bandwidth)
    gram[np.diag_indices_from(gram)] += 1e-8
    root = np.linalg.cholesky(gram)
    kernel = np.linalg.solve(root, np.exp(-squared_distances(centers, z) / bandwidth)).T
    return trend, kernel
