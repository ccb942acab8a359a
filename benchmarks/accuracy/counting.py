"""The one wrapper through which every method evaluates: it counts points, adds the noise, and keeps to the budget."""

from __future__ import annotations

import numpy as np
from problems import Problem


class BudgetSpent(Exception):  # noqa: N818  # it is no error
    """Raised instead of an evaluation that would go beyond the budget."""


class Counted:
    """A problem's log-density that may be evaluated at ``budget`` points, alone or many at once.

    Attributes
    ----------
    num_evals : int
        How many points were evaluated.
    is_spent : bool
        Whether more was asked for than the budget has. Libraries may swallow the exception or change its type.
    """

    def __init__(self, problem: Problem, budget: int, seed: int) -> None:
        self.problem, self.budget, self.seed = problem, budget, seed
        self.restart()

    def restart(self) -> None:
        """Forget what was spent: the next attempt is the one that counts."""
        self.num_evals, self.is_spent = 0, False
        self._rng = np.random.default_rng([self.seed, 1])

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Log-densities (n,) of points (n, d)."""
        points = np.asarray(points, dtype=np.float64)
        if self.num_evals + len(points) > self.budget:
            self.is_spent = True
            raise BudgetSpent(f"{self.num_evals:,} of {self.budget:,} evaluations are spent")
        self.num_evals += len(points)
        values = self.problem.log_prob(points)
        if self.problem.noise > 0:
            values = values + self.problem.noise * self._rng.standard_normal(len(points))
        return values

    def at(self, point: np.ndarray) -> float:
        """The log-density of one point."""
        return float(self(np.asarray(point)[None])[0])
