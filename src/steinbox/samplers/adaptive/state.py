"""What the adaptive sampler knows between two batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.family import Fitted
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive


@serializable("adaptive-batch")
@dataclass(frozen=True, eq=False)
class Batch:
    """Points to evaluate, in the order of their sources.

    ``is_shared`` if proposers compete in it; ``probed_by`` names the proposer if its points are no draws.
    """

    points: Array
    sources: tuple[Source, ...]
    is_shared: bool = False
    probed_by: str | None = None

    @classmethod
    def nothing(cls, dimension: int) -> Batch:
        """The end."""
        return cls(np.empty((0, dimension)), ())

    @property
    def proposers(self) -> str:
        """Their names."""
        if self.probed_by is not None:
            return self.probed_by
        return ", ".join(dict.fromkeys(source.proposer for source in self.sources))


@serializable("adaptive-fit")
@dataclass(frozen=True, eq=False)
class CurrentFit:
    """The fitted family, and the effective sample size of the points when its shape was chosen (0: choose anew)."""

    fitted: Fitted
    chosen_at: float


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
    """

    archive: WeightedArchive
    next: Batch
    max_evals: int
    num_evals: int = 0
    fit: CurrentFit | None = None
    tempering: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    memories: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[Milestone, ...] = ()
    observed: Array = field(default_factory=lambda: np.empty(0))
    noise_error: float = 0.0

    def with_milestone(self) -> Self:
        """With a milestone of how things stand."""
        archive = self.archive
        milestone = Milestone(len(archive), self.tempering, archive.log_evidence, archive.effective_sample_size)
        return replace(self, path=(*self.path, milestone))

    @property
    def log_evidence(self) -> float:
        r"""The estimate of :math:`\log \int p` so far."""
        return self.path[-1].log_evidence

    @property
    def effective_sample_size(self) -> float:
        """How many independent draws the weighted points are worth."""
        return self.path[-1].effective_sample_size

    def path_at(self, fraction: float) -> Milestone:
        """How things stood when there was this fraction of the points."""
        wanted = fraction * len(self.archive)
        return next((each for each in reversed(self.path) if each.num_points <= wanted), self.path[0])
