"""Chains that go on one by one: in batches while they learn from each other, and from then on each for itself.

.. code-block:: text

   batches, as in run/loop.py ─► the chains have learned ─► a value is back ─► its chain takes a step and goes out again

What a chain does depends on the seed and on its own values alone, so that nothing depends on the order of arrivals:
there is no log of it, and a checkpoint is a state like any other, in which chains have made different numbers of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Generic

import numpy as np

from steinbox.common.arrays import IntegerArray
from steinbox.evaluation import Evaluator, Stream
from steinbox.run.loop import REASONS_TO_STOP, Callback, Course, Keep, Outcome, RunState, Show, run_batches
from steinbox.run.status import Status
from steinbox.samplers.asynchronous import Separable
from steinbox.samplers.base import Info, Sampler, State


def run_apart(
    sampler: Sampler[State],
    evaluator: Evaluator,
    run_state: RunState[State],
    rng: np.random.Generator,
    seed: int,
    dimension: int,
    callbacks: tuple[Callback, ...] = (),
    keep: Keep | None = None,
    show: Show = lambda sample: sample,
) -> Outcome:
    """Go on with a run as :func:`steinbox.run.loop.run` does, each chain for itself as soon as that is possible."""
    if not isinstance(sampler, Separable):
        raise TypeError(f"expected a sampler of chains that can go on alone, got {type(sampler).__name__}")
    course = Course(sampler, evaluator, run_state, callbacks, keep, show)
    status, reason = course.reason_to_stop() if run_state.trace else None, ""
    if status is None:
        status, reason = run_batches(course, sampler, evaluator, rng, dimension, is_over=sampler.is_separable)
    if status is None:
        with closing(Stream(evaluator)) as stream:
            try:
                status = _Chains(sampler, course, stream, seed).run()
            except REASONS_TO_STOP as stop:
                status, reason = course.status_of(stop), str(stop)
    return course.end(status, reason)


class _Chains(Generic[State]):
    def __init__(self, sampler: Separable[State], course: Course[State], stream: Stream, seed: int) -> None:
        self._sampler, self._course, self._stream, self._seed = sampler, course, stream, seed
        self._state = course.state
        self._num_chains = len(sampler.ask_chains(course.state)[0])
        self._is_out = np.zeros(self._num_chains, dtype=bool)
        self._told: list[tuple[int, Info]] = []
        self._num_told = 0

    def run(self) -> Status:
        """Go on to the end; every n steps, of whatever chains, are an iteration."""
        while True:
            unfinished = self._sampler.find_unfinished(self._state)
            if len(unfinished) == 0 or self._num_told >= self._num_chains:
                status = self._course.advance(self._state, _average(self._told))
                self._told, self._num_told = [], 0
                if status is not None:
                    return status
            self._give_out(unfinished)
            self._learn(self._stream.collect())

    def _give_out(self, unfinished: IntegerArray) -> None:
        """What chains propose, those first that have made the fewest steps; a chain has one point under way at most.

        The number of an evaluation is what it is in batches, so that a function with a generator is given the same.
        """
        points, steps = self._sampler.ask_chains(self._state)
        waiting = unfinished[~self._is_out[unfinished]]
        while len(waiting) > 0 and (size := self._stream.num_wanted(len(unfinished), len(unfinished))) > 0:
            chains, waiting = waiting[:size], waiting[size:]
            self._is_out[chains] = True
            self._stream.give_out(points[chains], steps[chains] * self._num_chains + chains)

    def _learn(self, numbers: Sequence[int]) -> None:
        """Let the chains take their steps."""
        if not numbers:
            return
        chains = np.array(numbers) % self._num_chains
        self._is_out[chains] = False
        points, _ = self._sampler.ask_chains(self._state)
        evaluation = self._stream.take(points[chains], np.array(numbers))
        self._state, info = self._sampler.tell_chains(self._state, chains, evaluation, self._seed)
        self._told.append((len(chains), info))
        self._num_told += len(chains)


def _average(told: Sequence[tuple[int, Info]]) -> Info:
    """What was said of some chains at a time, over all of them."""
    counts = [count for count, _ in told]
    return {key: float(np.average([info[key] for _, info in told], weights=counts)) for key in told[0][1]}
