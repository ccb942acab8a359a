"""Where the calls run: the interface that the dispatcher uses, and the simplest case, this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.faults import Fault

Finished: TypeAlias = tuple[Block, Values | Fault]


class WorkersLostError(RuntimeError):
    """No worker is left to evaluate anything."""


class Workers(Protocol):
    """Where blocks are evaluated."""

    @property
    def num_workers(self) -> int:
        """How many blocks are evaluated at once."""
        ...

    @property
    def num_free(self) -> int:
        """How many blocks can be submitted now."""
        ...

    @property
    def max_block_seconds(self) -> float:
        """Seconds that a block should take at most, a fraction of the time-out."""
        ...

    def submit(self, block: Block) -> None:
        """Start evaluating the block."""
        ...

    def collect(self) -> list[Finished]:
        """Wait until something happens, and return the finished blocks: with values, or a fault of the whole block."""
        ...

    def cancel(self) -> None:
        """Drop what was submitted."""
        ...

    def close(self) -> None:
        """Release all that was started here."""
        ...


@dataclass(eq=False)
class InProcess:
    """In this process, one block after the other."""

    calls: Calls
    num_workers: int = 1
    max_block_seconds: float = float("inf")
    _waiting: list[Block] = field(default_factory=list)

    @property
    def num_free(self) -> int:
        """One, unless a block waits."""
        return 1 - len(self._waiting)

    def submit(self, block: Block) -> None:
        self._waiting.append(block)

    def collect(self) -> list[Finished]:
        blocks, self._waiting = self._waiting, []
        return [(block, self.calls(block)) for block in blocks]

    def cancel(self) -> None:
        self._waiting = []

    def close(self) -> None:
        """Nothing was started."""
