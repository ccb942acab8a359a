"""Workers behind ``map``: a pool of the user's that has nothing else."""

from __future__ import annotations

import secrets
from typing import Any

from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.faults import Fault
from steinbox.evaluation.remote import NEEDS_FUNCTION, evaluate_remotely, serialize
from steinbox.evaluation.workers import Finished, WorkersLostError

_UNLIMITED = 10**9


class MapPool:
    """Workers of a pool that has only ``map``: all blocks at once, and a wait for the last."""

    max_block_seconds = float("inf")

    def __init__(self, calls: Calls, pool: Any, num_workers: int) -> None:
        self._pool, self._payload, self._token = pool, serialize(calls), secrets.token_hex(8)
        self.num_workers = num_workers
        self._waiting: list[Block] = []
        self._works = False

    @property
    def num_free(self) -> int:
        """Unlimited once a call has worked: blocks wait until they are collected."""
        return _UNLIMITED if self._works else self.num_workers - len(self._waiting)

    def submit(self, block: Block) -> None:
        self._waiting.append(block)

    def collect(self) -> list[Finished]:
        blocks, self._waiting = self._waiting, []
        outcomes = self._map(blocks, None)
        missing = [i for i, outcome in enumerate(outcomes) if outcome == NEEDS_FUNCTION]
        for i, outcome in zip(missing, self._map([blocks[i] for i in missing], self._payload), strict=True):
            outcomes[i] = outcome
        self._works = self._works or any(isinstance(outcome, Values) for outcome in outcomes)
        return list(zip(blocks, outcomes, strict=True))

    def _map(self, blocks: list[Block], payload: bytes | None) -> list[Any]:
        try:
            return list(self._pool.map(_evaluate_task, [(self._token, payload, block) for block in blocks]))
        except Exception as error:
            raise WorkersLostError(f"the pool's map raised {type(error).__name__}: {error}") from error

    def cancel(self) -> None:
        self._waiting = []

    def close(self) -> None:
        """The pool is the user's."""


def _evaluate_task(task: tuple[str, bytes | None, Block]) -> Values | Fault | str:
    return evaluate_remotely(*task)
