"""What the peers share: a start, and 200 equally weighted points out of what they return."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from counting import BudgetSpent, Counted
from measures import NUM_POINTS

from steinbox.numerics.weights import systematic_resample

ENOUGH = 0.8  # of the budget: a larger size is not tried


def walkers_for(dimension: int) -> int:
    """An even number of walkers, more than two per dimension."""
    return max(50, 2 * dimension + 2)


def start_inside(log_prob: Counted, num_points: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws of the initial distribution at which the density is positive, and their log-densities."""
    rng, problem = np.random.default_rng(seed), log_prob.problem
    points, values = np.empty((0, problem.dimension)), np.empty(0)
    while len(points) < num_points:
        draws = problem.initial.sample(num_points - len(points), rng)
        log_densities = log_prob(draws)
        inside = np.isfinite(log_densities)
        points = np.concatenate([points, draws[inside]])
        values = np.concatenate([values, log_densities[inside]])
    return points, values


def thinned(chain: np.ndarray) -> np.ndarray:
    """Of the second half of a chain (steps, walkers, d), a few ensembles as far apart as possible."""
    num_steps, num_walkers, dimension = chain.shape
    steps = np.linspace(num_steps - 1, num_steps // 2, math.ceil(NUM_POINTS / num_walkers)).astype(int)
    points = chain[steps].reshape(-1, dimension)
    return points[np.linspace(0, len(points) - 1, NUM_POINTS).astype(int)]


def resampled(points: np.ndarray, weights: np.ndarray | None, seed: int) -> np.ndarray:
    """Points taken in proportion to their weights; as they are if nothing needs to be chosen."""
    num_points = len(points)
    weights = np.full(num_points, 1 / num_points) if weights is None else weights / weights.sum()
    if num_points == NUM_POINTS and np.ptp(weights) < 1e-12:
        return points
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(num_points)
    return points[order[systematic_resample(weights[order], NUM_POINTS, rng)]]


def log_likelihood(log_prob: Counted) -> Callable[[np.ndarray], np.ndarray]:
    """For methods that know a prior: the log-density without that of the start, which serves as the prior."""
    initial = log_prob.problem.initial
    return lambda points: log_prob(points) - initial.log_prob(points)


def largest_that_fits(
    attempt: Callable[[int], tuple[np.ndarray | None, bool]], log_prob: Counted, smallest: int
) -> np.ndarray:
    """The points of an attempt whose size was chosen so that the method ends by itself within the budget.

    ``attempt(size)`` returns points, if there are any, and whether the method came to its end. Only the evaluations of
    the attempt that is kept count: a gift to the methods that cannot be told a budget.
    """
    points, num_evals, size, candidate, may_grow = None, 0, 0, smallest, True
    while candidate > size:
        log_prob.restart()
        found, has_ended = attempt(candidate)
        if has_ended or size == 0:
            points, num_evals, size = found, log_prob.num_evals, candidate
        may_grow = may_grow and has_ended and num_evals < ENOUGH * log_prob.budget
        if may_grow:
            candidate = int(0.95 * size * log_prob.budget / num_evals)
        else:
            candidate = size if has_ended else int(0.8 * candidate)
    log_prob.num_evals = num_evals
    if points is None:
        raise BudgetSpent(f"not at its end after {num_evals:,} evaluations with size {smallest}")
    return points
