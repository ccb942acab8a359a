"""The seam of the default sampler: what a proposer sees, and what it may offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.density import Density
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.family import Family
from steinbox.densities.initial import Initial
from steinbox.samplers.adaptive.state import CurrentFit, Milestone
from steinbox.samplers.adaptive.tuning import Tuning
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive

# -- what a proposer sees ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class View:
    """What is known when the next batch is decided.

    Attributes
    ----------
    archive : WeightedArchive
        Every point so far, with its log-density and weight.
    fit : CurrentFit or None
        The family as it was last fitted; ``fit.fitted.density`` is its density.
    tempering : float
        The power at which the weights have an effective sample size to learn from; 1 once they are even.
    path : tuple of Milestone
        How things stood after each batch.
    family : Family
        What is fitted to weighted points.
    initial : Initial
        The initial distribution, normalized.
    num_particles, max_evals, num_evals : int
        What was asked for, and what was used so far.
    num_left : int
        Evaluations left, without those that were reserved.
    batch_size : int
        Evaluations of a usual batch.
    is_enough : bool
        Whether the run would stop now if no proposer objected.
    tuning : Tuning
    """

    archive: WeightedArchive
    fit: CurrentFit | None
    tempering: float
    path: tuple[Milestone, ...]
    family: Family
    initial: Initial
    num_particles: int
    max_evals: int
    num_evals: int
    num_left: int
    batch_size: int
    is_enough: bool
    tuning: Tuning


# -- what it may offer -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of a density, which share the next batch with those of other proposers."""

    density: Density


@dataclass(frozen=True, eq=False)
class Block:
    """Points to be evaluated by themselves, in the order of the densities they are draws of."""

    points: Array
    sources: tuple[Source, ...]


@dataclass(frozen=True, eq=False)
class Discovery:
    """Mass that the fit has missed: weighted points, and their share of all weight.

    The fit gets another component for it; then the proposer is asked again.
    """

    sample: WeightedPoints
    share: float


@dataclass(frozen=True)
class Reserve:
    """Nothing now, but so many evaluations are to be left for later."""

    num_evals: int


Offer: TypeAlias = Draws | CurrentFit | Block | Discovery | Reserve | None
"""A :class:`CurrentFit` is the family fitted anew: from then on it is the fit, and its draws share the batch."""


class Proposer(ABC):
    """Looks at the weighted archive and offers a density to draw from, or nothing.

    Proposers are asked in turn before every batch. The first that offers a :class:`Block` has the batch for itself.
    Otherwise all that offer a density share it, in proportion to what a draw of each has earned, the mean of its
    tempered weight; every one gets at least ``tuning.min_share``. Whatever is drawn is weighted with all the rest, so
    that a bad proposal costs evaluations and nothing else.

    A proposer is immutable. What it must remember from one batch to the next it returns as its memory, a serializable
    dataclass, and is given again.

    Examples
    --------
    A proposer that adds draws of the initial distribution, twice as wide, to every batch:

    >>> import steinbox as sb
    >>> from steinbox.samplers.adaptive import DEFAULT_PROPOSERS, Draws
    >>> class Wide(sb.Proposer):
    ...     name = "wide"
    ...     def propose(self, view, memory, rng):
    ...         return Draws(sb.GaussianMixture([sb.Gaussian([0.0, 0.0], std=6.0)])), memory
    >>> method = sb.AdaptiveImportanceSampling(proposers=(*DEFAULT_PROPOSERS, Wide()))
    >>> result = sb.sample(sb.targets.Banana().log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, method=method,
    ...                    num_particles=100, max_evals=2_000, seed=0)
    >>> result.trace["proposers"][-1].item()
    'fitted family, wide'
    """

    name: ClassVar[str]

    @abstractmethod
    def propose(self, view: View, memory: Any, rng: np.random.Generator) -> tuple[Offer, Any]:
        """What to draw next, and what to remember; the memory is None at first."""

    def is_done(self, view: View, memory: Any) -> bool:
        """Whether it has nothing against stopping early."""
        return True
