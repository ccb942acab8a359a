r"""Chains that learn from each other without waiting at every step: what some have seen, and others not yet.

.. code-block:: text

   all chains have made step t ─ learn ─► version t of the proposal ─► their steps t + 1 + lead

What a chain proposes for step s was learned from the steps up to s − 1 − lead of all chains, whatever else is known by
then. So nothing depends on the order of arrivals, and a chain may be ``lead`` steps ahead of the slowest one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array, IntegerArray, Mask
from steinbox.common.serialization import serializable


class Learner(Protocol):
    """A proposal of :mod:`steinbox.samplers.markov.chains`."""

    def draw(self, points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Proposed points, and their corrections."""
        ...

    def learn(self, points: Array, acceptance: float, step: int, rng: np.random.Generator) -> Learner:
        """The proposal for the next step."""
        ...


@serializable("chain-backlog")
@dataclass(frozen=True, eq=False)
class Backlog:
    """What was seen at steps that not all chains have made, and the versions that some chains still need.

    ``points`` (lead + 1, n, d) and ``probability`` (lead + 1, n) are of the steps after the ``num_learned`` that have
    been learned from, each in the row of its number modulo lead + 1; ``proposals`` end with that version. ``waits``
    (n,) are the chains whose next proposal has not been drawn.
    """

    points: Array
    probability: Array
    proposals: tuple[Learner, ...]
    num_learned: int
    last_step: int
    waits: Mask

    @classmethod
    def start(cls, proposal: Learner, lead: int, last_step: int, points: Array) -> Backlog:
        """Nothing was seen yet; ``last_step`` is the last to learn from."""
        rows, num_chains = lead + 1, len(points)
        seen = np.zeros((rows, *points.shape)), np.zeros((rows, num_chains))
        return cls(*seen, (proposal,), 0, last_step, np.zeros(num_chains, dtype=bool))

    @property
    def lead(self) -> int:
        """Steps by which a chain may be ahead."""
        return len(self.points) - 1

    def see(self, chains: IntegerArray, steps: IntegerArray, points: Array, probability: Array) -> Backlog:
        """With where these chains are after these steps; all of them wait for a proposal."""
        all_points, all_probability, waits = self.points.copy(), self.probability.copy(), self.waits.copy()
        rows = steps % len(all_points)
        all_points[rows, chains], all_probability[rows, chains] = points, probability
        waits[chains] = True
        return replace(self, points=all_points, probability=all_probability, waits=waits)

    def learn(self, num_made: int, seed: int) -> Backlog:
        """With what is learned once all chains have made so many steps."""
        proposals, num_learned = list(self.proposals), self.num_learned
        while num_learned < min(num_made, self.last_step):
            num_learned += 1
            row = num_learned % len(self.points)
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(num_learned, 0, 3)))
            acceptance = float(self.probability[row].mean())
            proposals.append(proposals[-1].learn(self.points[row], acceptance, num_learned, rng))
        return replace(self, proposals=tuple(proposals[-len(self.points) :]), num_learned=num_learned)

    def find_version(self, step: int) -> Learner | None:
        """The proposal for this step; none if others have to make theirs first."""
        version = min(max(step - 1 - self.lead, 0), self.last_step)
        first = self.num_learned - len(self.proposals) + 1
        return self.proposals[version - first] if version <= self.num_learned else None
