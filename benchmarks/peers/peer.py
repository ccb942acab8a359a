"""What the peers share: a cap on evaluations, the start as a prior, and answers made of chains.

A peer is a folder with ``requirements.txt`` and ``with_<name>.py``, which has ``PACKAGES`` and
``run(case, log_likelihood, budget, seed) -> Answer``. ``run.py`` gives each an environment of its own, in which the
runner of ``benchmarks/published`` does the rest: the rows are the only thing that leaves it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
from case import Case
from measures import Answer
from methods import Counted
from scipy.optimize import minimize
from scipy.special import ndtri

BALL = 1e-4  # its radius in emcee's tutorial; here in units of the start


class BudgetSpent(Exception):  # noqa: N818
    """The next evaluation would be one too many."""


class Capped:
    """The log-density of a case, which ends when the budget is spent.

    Methods that want a prior and a likelihood get the start as the prior, and the log-density less that of the start:
    their evidence is that of the density.
    """

    def __init__(self, case: Case, log_likelihood: Counted, budget: int) -> None:
        self.case, self.log_likelihood, self.budget = case, log_likelihood, budget
        self.center, self.sd = np.array([(each.mean(), each.std()) for each in case.factors]).T
        self.is_normal = all(each.dist.name == "norm" for each in case.factors)

    @property
    def num_left(self) -> int:
        return self.budget - self.log_likelihood.num_evals

    @property
    def is_spent(self) -> bool:
        """Whether a call was refused, or would be."""
        return self.num_left <= 0 or self.was_refused

    was_refused = False

    def log_prob(self, points: np.ndarray) -> np.ndarray:
        """(n, d) -> (n,)."""
        if len(points) > self.num_left:
            self.was_refused = True
            raise BudgetSpent(f"{self.log_likelihood.num_evals:,} evaluations")
        if self.case.has_prior:
            inside = np.isfinite(self.log_prior(points))
            values = np.full(len(points), -np.inf)
            values[inside] = self.log_likelihood(points[inside])
            return values + np.where(inside, self.log_prior(points), 0.0)
        return self.log_likelihood(points)

    def log_prior(self, points: np.ndarray) -> np.ndarray:
        if self.is_normal:  # what scipy.stats does, fifty times faster for one point
            return -0.5 * (((points - self.center) / self.sd) ** 2 + np.log(2 * np.pi * self.sd**2)).sum(axis=-1)
        return np.sum([each.logpdf(x) for each, x in zip(self.case.factors, points.T, strict=True)], axis=0)

    def log_ratio(self, points: np.ndarray) -> np.ndarray:
        """The likelihood of methods that know a prior."""
        return self.log_prob(points) - self.log_prior(points)

    def one_log_ratio(self, point: np.ndarray) -> float:
        return float(self.log_ratio(np.asarray(point)[None])[0])

    def from_cube(self, cube: np.ndarray) -> np.ndarray:
        """Of (…, d) points in the unit cube."""
        if self.is_normal:
            return self.center + self.sd * ndtri(cube)
        return np.stack([each.ppf(cube[..., j]) for j, each in enumerate(self.case.factors)], axis=-1)

    def start(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return np.column_stack([each.rvs(num_points, random_state=rng) for each in self.case.factors])

    def ball(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        """Points next to the best one that BFGS from the middle of the start has found with a quarter of the budget."""
        climber, found = Capped(self.case, self.log_likelihood, self.budget // 4), []

        def cost(place: np.ndarray) -> float:
            value = float(climber.log_prob((self.center + self.sd * place)[None])[0])
            found.append((value, *place))
            return -max(value, -1e30)

        with contextlib.suppress(BudgetSpent):
            minimize(cost, np.zeros(self.case.dimension))
        best = np.array(max(found)[1:])
        return self.center + self.sd * (best + BALL * rng.standard_normal((num_points, self.case.dimension)))


def of_chain(chain: np.ndarray) -> Answer:
    """The second half of a chain (steps, walkers, d), equally weighted."""
    points = chain[len(chain) // 2 :].reshape(-1, chain.shape[-1])
    return equally_weighted(points)


def equally_weighted(points: np.ndarray, log_evidence: float = np.nan, error: float = np.nan) -> Answer:
    return Answer(points, np.full(len(points), 1 / len(points)), log_evidence, error)


def largest_that_fits(
    attempt: Callable[[int, Capped], Answer], case: Case, log_likelihood: Counted, budget: int, sizes: tuple[int, int]
) -> Answer:
    """The answer of an attempt whose size lets the method end by itself within the budget.

    ``attempt(size, density)`` raises ``BudgetSpent`` if it does not end. The first size is what the documentation
    recommends, but at most a twentieth of the budget; it is halved until it fits. Only the evaluations of the attempt
    that is kept are counted: a gift to methods that cannot be told a budget.
    """
    size, smallest = max(sizes[1], min(sizes[0], budget // 20)), sizes[1]
    while True:
        log_likelihood.num_evals = 0
        density = Capped(case, log_likelihood, budget)
        try:
            return attempt(size, density)
        except Exception:
            if not density.is_spent:
                raise
            if size <= smallest:
                raise BudgetSpent(f"not at its end with the smallest size, {size}") from None
        size = max(smallest, size // 2)
