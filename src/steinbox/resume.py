"""From a run to its checkpoint, and from a checkpoint to its run."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steinbox.checkpoint import Checkpoint, CheckpointError, Journal, NoJournal, Snapshot, differences
from steinbox.evaluate import Evaluator
from steinbox.loop import Journey, Keep
from steinbox.samplers.base import Extendable, Sampler
from steinbox.types import Array


def open_journal(checkpoint: object) -> Journal | NoJournal:
    """Understand ``checkpoint=``: nothing, a path, or a Checkpoint."""
    if checkpoint is None:
        return NoJournal()
    if isinstance(checkpoint, Checkpoint):
        return Journal(checkpoint)
    if isinstance(checkpoint, str | Path):
        return Journal(Checkpoint(checkpoint))
    raise TypeError(f"expected checkpoint to be a path or sb.Checkpoint(path, seconds=60), got {checkpoint!r}")


def seed_for(asked: int | None, stored: Snapshot | None) -> int:
    """The seed that was asked for, the checkpoint's, or a new one."""
    if stored is None:
        return secrets.randbits(63) if asked is None else asked
    if asked not in (None, stored.seed):
        raise CheckpointError(f"the checkpoint is of another run: seed was {stored.seed} and is {asked}")
    return stored.seed


def digest(array: Array) -> str:
    """A short name for the array's content."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def resumed(
    stored: Snapshot,
    problem: Mapping[str, Any],
    sampler: Sampler,
    evaluator: Evaluator,
    rng: np.random.Generator,
    *,
    is_noisy: bool,
) -> Journey:
    """The journey up to the checkpoint; evaluator and generator are put where they were.

    If more evaluations are allowed now, and the sampler can do with that, the journey is to go on with these.
    """
    asked, before = problem["max_evals"], stored.problem
    is_longer = isinstance(sampler, Extendable) and asked > before.get("max_evals", np.inf)
    unlike = differences({**before, "max_evals": asked} if is_longer else before, problem)
    if unlike:
        raise CheckpointError(f"the checkpoint is of another run: {unlike}. Name another file, or delete it")
    try:
        evaluator.take_up(stored.account, stored.archive, is_noisy=is_noisy)
    except ValueError as error:
        raise CheckpointError(f"the checkpoint is of another run: {error}") from None
    try:
        rng.bit_generator.state = stored.generator
    except (TypeError, ValueError, KeyError) as error:
        raise CheckpointError(f"the checkpoint holds no state of a random generator: {error}") from None
    if isinstance(sampler, Extendable) and is_longer:
        return Journey(sampler.extended(stored.state, asked, rng), stored.trace)
    return Journey(stored.state, stored.trace)


def keeper(
    journal: Journal | NoJournal, problem: Mapping[str, Any], seed: int, evaluator: Evaluator, rng: np.random.Generator
) -> Keep:
    """What the loop calls after each iteration: it notes the moment, and writes when it is time."""
    if isinstance(journal, NoJournal):
        return lambda journey: None

    def keep(journey: Journey) -> None:
        generator, account, num_done = rng.bit_generator.state, evaluator.account, len(journey.trace)

        def take() -> Snapshot:
            archive = evaluator.archive.first(account.num_archived)
            return Snapshot(problem, seed, generator, account, archive, journey.state, tuple(journey.trace[:num_done]))

        journal.keep(take)

    return keep
