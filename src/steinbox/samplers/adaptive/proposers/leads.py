"""Leads: clusters of points that are much denser than fitted, and Gaussians fitted to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.em import fit_mixture
from steinbox.densities.fitting.weighted_points import WeightedPoints
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.weights import effective_sample_size, normalize, temper
from steinbox.samplers.adaptive.proposer import View
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive, finite_log_weights

_MIN_POINTS = 5  # to fit a Gaussian to
_MAX_CLUSTERED = 300  # points, the densest
_CLUSTER_GAP = 2.0  # in median distances to the nearest other point: farther from a denser one is another cluster
_MIN_DISTANCE = 1e-9  # between points, in standard deviations of the initial distribution


@serializable("adaptive-lead")
@dataclass(frozen=True, eq=False)
class Lead:
    """Points that are being followed: those it began with, where its own draws start, and what it draws from.

    It is certain if that was fitted to weights that are nearly even. ``heights`` are the mean log-densities so far.
    """

    rows: IntegerArray
    start: int
    heights: tuple[float, ...]
    density: GaussianMixture
    is_certain: bool


@dataclass(frozen=True, eq=False)
class LocalFit:
    """A Gaussian fitted to some points, and their weights in the fit, tempered to a power."""

    density: GaussianMixture
    power: float
    weights: Array

    def mean(self, values: Array) -> float:
        """Of something at the points."""
        return float(self.weights @ values)


def excess_log_density(view: View) -> Array:
    r"""How much denser than fitted every point is, :math:`\log p - \log(\hat Z q)`, in nats."""
    archive = view.archive
    fitted = np.full(len(archive), -np.inf) if view.fit is None else view.fit.fitted.density.log_prob(archive.points)
    return np.asarray(archive.log_prob - archive.log_evidence - fitted)


def share(archive: WeightedArchive, rows: IntegerArray) -> float:
    """How much of all weight some points hold."""
    return float(normalize(archive.log_weights)[rows].sum())


def find_lead(view: View, settled: IntegerArray, rng: np.random.Generator) -> Lead | None:
    """A lead from the densest point that was missed and that none has gone through, if there is one."""
    archive = view.archive
    is_open = excess_log_density(view) > view.tuning.min_excess
    is_open[settled] = False
    rows = np.flatnonzero(is_open)
    if not len(rows):
        return None
    rows = rows[np.argsort(-archive.log_prob[rows], kind="stable")][:_MAX_CLUSTERED]
    scale = view.initial.sample(1000, rng).std(axis=0)
    nearest = _distance_to_others(archive.points / scale, rows)
    rows = rows[_first_cluster(archive.points[rows] / scale, _CLUSTER_GAP * float(np.median(nearest)))]
    fit = fit_locally(archive, rows, rng)
    if fit is None:
        rows = rows[:1]
        std = 0.5 * max(nearest[0], _MIN_DISTANCE) / np.sqrt(len(scale)) * scale
        fit = LocalFit(GaussianMixture([Gaussian(archive.points[rows[0]], std=std)]), 0.0, np.ones(1))
    height = fit.mean(archive.log_prob[rows])
    return Lead(rows, len(archive), (height,), fit.density, fit.power > view.tuning.even_power)


def fit_locally(archive: WeightedArchive, rows: IntegerArray, rng: np.random.Generator) -> LocalFit | None:
    """A Gaussian to draw from next; None if there are too few points."""
    if len(rows) < _MIN_POINTS:
        return None
    log_weights = finite_log_weights(archive.log_weights[rows])
    wanted = max(_MIN_POINTS, min(3 * archive.dimension, 0.5 * len(rows)))
    power = temper(log_weights, wanted)
    weights = normalize(power * log_weights)
    sample = WeightedPoints(archive.points[rows], weights, effective_sample_size(weights))
    return LocalFit(fit_mixture(sample, 1, rng), power, weights)


def _distance_to_others(points: Array, rows: IntegerArray) -> Array:
    """From some of the points to the nearest other point."""
    squares = squared_distances(points[rows], points)
    squares[np.arange(len(rows)), rows] = np.inf
    return np.asarray(np.sqrt(squares.min(axis=1)))


def _first_cluster(points: Array, longest: float) -> IntegerArray:
    """Which points, sorted by density, are linked to the first by steps to the nearest denser one (quick shift)."""
    squares = squared_distances(points, points)
    belongs = np.zeros(len(points), dtype=bool)
    belongs[0] = True
    for k in range(1, len(points)):
        nearest = int(squares[k, :k].argmin())
        belongs[k] = belongs[nearest] and squares[k, nearest] <= longest**2
    return np.flatnonzero(belongs)
