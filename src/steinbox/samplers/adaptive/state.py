"""What the adaptive sampler knows between two batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.family import Fitted
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive


@serializable("adaptive-batch")
@dataclass(frozen=True, eq=False)
class Batch:
    """Points to evaluate, in the order of their sources.

    ``is_shared`` if proposers compete in it; ``asked_by`` names the proposer that has it for itself, and ``probed_by``
    does if its points are no draws.
    """

    points: Array
    sources: tuple[Source, ...]
    is_shared: bool = False
    probed_by: str | None = None
    asked_by: str = ""

    @classmethod
    def nothing(cls, dimension: int) -> Batch:
        """The end."""
        return cls(np.empty((0, dimension)), ())

    @property
    def is_whole(self) -> bool:
        """Whether a proposer waits for all of it."""
        return bool(self.asked_by)

    def take(self, rows: IntegerArray) -> Batch:
        """These rows, in ascending order, and what they are draws of."""
        owners = np.repeat(np.arange(len(self.sources)), [source.count for source in self.sources])
        counts = np.bincount(owners[rows] if len(owners) else owners, minlength=len(self.sources)).tolist()
        sources = (replace(source, count=count) for source, count in zip(self.sources, counts, strict=True))
        return replace(self, points=self.points[rows], sources=tuple(each for each in sources if each.count > 0))

    @classmethod
    def join(cls, parts: Sequence[Batch]) -> Batch:
        """Several in a row."""
        sources = tuple(source for part in parts for source in part.sources)
        return cls(np.concatenate([part.points for part in parts]), sources, is_shared=parts[0].is_shared)

    @property
    def proposers(self) -> str:
        """Their names."""
        if self.probed_by is not None:
            return self.probed_by
        return ", ".join(dict.fromkeys(source.proposer for source in self.sources))


@serializable("adaptive-milestone")
@dataclass(frozen=True)
class Milestone:
    """How things stood after a batch."""

    num_points: int
    tempering: float
    log_evidence: float
    effective_sample_size: float


@serializable("adaptive-state")
@dataclass(frozen=True, eq=False)
class AdaptiveState:
    """All points so far, what was learned from them, and what is evaluated next.

    ``shares`` are those of the proposers that share batches, ``memories`` what proposers remember, both by name. With
    noise the log-densities of the archive are smoothed; ``observed`` are the values themselves, and ``noise_error`` is
    the standard deviation of the log-evidence that noise leaves.

    ``shared`` are the densities of the last shared batch, by proposer, to draw more from; ``num_out`` evaluations are
    not back yet, ``num_reserved`` are to be left until they are, and ``waits_for`` names the proposer whose own batch
    is among them.
    """

    archive: WeightedArchive
    next: Batch
    max_evals: int
    num_evals: int = 0
    fit: Fitted | None = None
    tempering: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    memories: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[Milestone, ...] = ()
    observed: Array = field(default_factory=lambda: np.empty(0))
    noise_error: float = 0.0
    shared: Mapping[str, Any] = field(default_factory=dict)
    num_out: int = 0
    num_reserved: int = 0
    waits_for: str = ""

    @property
    def num_left(self) -> int:
        """Evaluations left in the budget."""
        return self.max_evals - self.num_evals - self.num_out

    def with_milestone(self) -> Self:
        """With a milestone of how things stand."""
        archive = self.archive
        milestone = Milestone(len(archive), self.tempering, archive.log_evidence, archive.effective_sample_size)
        return replace(self, path=(*self.path, milestone))

    @property
    def log_evidence(self) -> float:
        r"""The estimate of :math:`\log \int p` so far; −inf before a point is inside the support."""
        return self.path[-1].log_evidence if self.path else -np.inf

    @property
    def effective_sample_size(self) -> float:
        """How many independent draws the weighted points are worth."""
        return self.path[-1].effective_sample_size if self.path else 0.0

    def path_at(self, fraction: float) -> Milestone:
        """How things stood when there was this fraction of the points."""
        wanted = fraction * len(self.archive)
        return next((each for each in reversed(self.path) if each.num_points <= wanted), self.path[0])
