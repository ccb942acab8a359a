"""What the archive sampler knows between two batches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.family import Fitted
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.samplers.adaptive.weighted_archive import Proposal, WeightedArchive


@serializable("adaptive-batch")
@dataclass(frozen=True, eq=False)
class Batch:
    """Points to evaluate, why they were drawn, and how many of which proposal."""

    decision: str
    points: Array
    proposals: tuple[Proposal, ...]
    counts: tuple[int, ...]

    @classmethod
    def nothing(cls, dimension: int) -> Batch:
        """The end."""
        return cls("stop", np.empty((0, dimension)), (), ())


@serializable("adaptive-milestone")
@dataclass(frozen=True)
class Milestone:
    """How things stood after a batch."""

    num_points: int
    tempering: float
    log_evidence: float
    effective_sample_size: float


@serializable("adaptive-local-search")
@dataclass(frozen=True, eq=False)
class Trail:
    """Surprises that are being followed: those it began with, where its own draws start, and what it draws from.

    It is sure if that was fitted to weights that are nearly even. ``heights`` are the log-densities it came through.
    """

    rows: IntegerArray
    start: int
    heights: tuple[float, ...]
    density: GaussianMixture
    is_sure: bool


@serializable("adaptive-search")
@dataclass(frozen=True, eq=False)
class Search:
    """How far the search for missed mass has come.

    ``settled`` are the rows that trails have led through, ``found_at`` is the number of points when mass was found.
    """

    num_evals: int = 0
    num_scans: int = 0
    is_on: bool = False
    num_in_vain: int = 0
    found_at: int = 0
    trail: Trail | None = None
    settled: IntegerArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@serializable("adaptive-refinement")
@dataclass(frozen=True, eq=False)
class Polish:
    """Particles that a regression chose, their log-densities, foretold or found, and whether the two agree."""

    points: Array
    log_prob: Array
    is_good: bool


@serializable("adaptive-state")
@dataclass(frozen=True, eq=False)
class AdaptiveState:
    """All points so far, what was learned from them, and what is drawn next."""

    ledger: WeightedArchive
    next: Batch
    num_particles: int
    max_evals: int
    num_evals: int = 0
    fitted: Fitted | None = None
    chosen_at: float = 0.0
    tempering: float = 0.0
    num_even: int = 0
    jump_share: float = 0.5
    search: Search = field(default_factory=Search)
    polish: Polish | None = None
    path: tuple[Milestone, ...] = ()

    def remembered(self) -> Self:
        """With a milestone of how things stand."""
        ledger = self.ledger
        milestone = Milestone(len(ledger), self.tempering, ledger.log_evidence, ledger.effective_sample_size)
        return replace(self, path=(*self.path, milestone))

    @property
    def log_evidence(self) -> float:
        r"""The estimate of :math:`\log \int p` so far."""
        return self.path[-1].log_evidence

    @property
    def effective_sample_size(self) -> float:
        """How many independent draws the weighted points are worth."""
        return self.path[-1].effective_sample_size

    def path_at(self, share: float) -> Milestone:
        """How things stood when there was this share of the points."""
        wanted = share * len(self.ledger)
        return next((each for each in reversed(self.path) if each.num_points <= wanted), self.path[0])
