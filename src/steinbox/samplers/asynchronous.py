"""What a sampler also has if workers need never wait: its batches are told in portions, in whatever order they come.

.. code-block:: text

   state ─ draw ─► batch, batch, …  ─ points go out one by one, come back in any order ─► parts ─ tell_parts ─► state

A draw of a density is worth what it is worth whenever it comes back, if it is weighted by the density it was drawn from
and not by the one of the day. So there is always something to evaluate: more draws of the proposals as they stand.

Markov chains are another case: once they have learned what they learn from each other, each goes on as soon as its own
value is back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.evaluation import Evaluation
from steinbox.samplers.base import Info

State = TypeVar("State")


class Batch(Protocol):
    """Points that were drawn together, with all that is needed to learn from any of them; serializable."""

    @property
    def points(self) -> Array:
        """(m, d)."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether it is of use only as a whole; otherwise any part of it is."""
        ...

    def take(self, rows: IntegerArray) -> Self:
        """These rows, which are in ascending order, as a batch."""
        ...


@runtime_checkable
class Asynchronous(Protocol[State]):
    """What a sampler also has if it can learn from parts of batches, and draw before it has."""

    def draw(self, state: State, index: int, rng: np.random.Generator) -> Batch | None:
        """The first batch (0) from this state, and more of them (1, 2, …); None if there is nothing to draw."""
        ...

    def tell_parts(
        self, state: State, parts: Sequence[tuple[Batch, Evaluation]], num_out: int, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Learn from parts of batches, of this state or of earlier ones, while so many points are not back yet."""
        ...

    def num_to_tell(self, state: State) -> int:
        """Points that are enough to learn from."""
        ...

    def num_reserved(self, state: State) -> int:
        """Evaluations not to be spent on further draws until all that are out are back."""
        ...


@runtime_checkable
class Separable(Protocol[State]):
    """What a sampler also has if from some moment on its chains need nothing of each other.

    What a chain does then must depend on the seed, the chain, its step and its values alone, so that neither the number
    of workers nor the order of arrivals changes anything.
    """

    def is_separable(self, state: State) -> bool:
        """Whether that moment has come."""
        ...

    def ask_chains(self, state: State) -> tuple[Array, IntegerArray]:
        """Where each chain looks next, (n, d), and the steps that each has made, (n,)."""
        ...

    def find_unfinished(self, state: State) -> IntegerArray:
        """The chains that have steps to make, those that have made fewest first."""
        ...

    def tell_chains(self, state: State, chains: IntegerArray, evaluation: Evaluation, seed: int) -> tuple[State, Info]:
        """Let these chains, all different, learn what was found where they looked."""
        ...
