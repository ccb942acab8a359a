"""The seam of the default sampler: what a proposer sees, what it may offer, and how a batch is shared out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_component
from steinbox.common.noise import Noise
from steinbox.densities.density import Density
from steinbox.densities.fitting.family import Family, Fitted
from steinbox.densities.initial import Initial
from steinbox.numerics.weights import normalize
from steinbox.samplers.adaptive.state import AdaptiveState, Batch, Milestone
from steinbox.samplers.adaptive.tuning import Tuning
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive, finite_log_weights

# -- what a proposer sees ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class View:
    """What is known when the next batch is decided.

    Attributes
    ----------
    archive : WeightedArchive
        Every point so far, with its log-density and weight.
    fit : Fitted or None
        The family as it was last fitted; ``fit.density`` is its density.
    tempering : float
        The power at which the weights have an effective sample size to learn from; 1 once they are even.
    path : tuple of Milestone
        How things stood after each batch.
    shares : mapping of str to float
        Of a batch, by proposer: what the draws of each have earned.
    family : Family
        What is fitted to weighted points.
    initial : Initial
        The initial distribution, normalized.
    num_particles, max_evals, num_evals : int
        What was asked for, and what was used so far.
    num_left : int
        Evaluations left, without those that were reserved.
    num_out : int
        Evaluations of which the values are not back yet.
    batch_size : int
        Evaluations of a usual batch.
    is_enough : bool
        Whether the run would stop now if no proposer objected.
    is_noisy : bool
        Whether log-densities are estimates: those of the archive are smoothed then.
    noise : Noise or None
        What their noise is assumed to be.
    tuning : Tuning
    """

    archive: WeightedArchive
    fit: Fitted | None
    tempering: float
    path: tuple[Milestone, ...]
    shares: Mapping[str, float]
    family: Family
    initial: Initial
    num_particles: int
    max_evals: int
    num_evals: int
    num_left: int
    batch_size: int
    is_enough: bool
    is_noisy: bool
    tuning: Tuning
    noise: Noise | None = None
    num_out: int = 0

    @property
    def draws_per_particle(self) -> float:
        """The effective sample size of the archive per particle."""
        return self.archive.effective_sample_size / self.num_particles


# -- what it may offer -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of a normalized density, which share the next batch with those of other proposers."""

    density: Density | Initial

    def __post_init__(self) -> None:
        require_component("the density of Draws", self.density, "log_prob", "Gaussian(mean, std=1)")


@dataclass(frozen=True, eq=False)
class Block:
    """Points to be evaluated by themselves, in the order of the densities they are draws of."""

    points: Array
    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        num_points = sum(source.count for source in self.sources)
        if np.ndim(self.points) != 2 or len(self.points) != num_points or num_points == 0:
            raise ValueError(
                f"Block expects points (m, d), as many as its sources count, got shape {np.shape(self.points)} for "
                f"{num_points}"
            )


@dataclass(frozen=True, eq=False)
class Probe:
    """Points that are no draws of a density: their log-densities go to :meth:`Proposer.learn`, and have no weight."""

    points: Array

    def __post_init__(self) -> None:
        if np.ndim(self.points) != 2 or len(self.points) == 0:
            raise ValueError(f"Probe expects points (m, d), at least one, got shape {np.shape(self.points)}")


@dataclass(frozen=True)
class Reserve:
    """Nothing now, but so many evaluations are to be left for later, if the others do not need the last ones."""

    num_evals: int


Offer: TypeAlias = Draws | Fitted | Block | Probe | Reserve | None
"""A :class:`Fitted` is the family fitted anew: from then on it is the fit, and its draws share the batch."""


class Proposer(ABC):
    """Looks at the weighted archive and offers a density to draw from, or nothing.

    Proposers are asked in turn before every batch. The first that offers a :class:`Block` has the batch for itself.
    Otherwise all that offer a density share it, in proportion to what a draw of each has earned, the mean of its
    tempered weight; every one gets at least ``tuning.min_share``. Whatever is drawn is weighted with all the rest, so
    that a bad proposal costs evaluations and nothing else.

    A proposer is immutable. What it must remember from one batch to the next it returns as its memory, and is given
    again. Checkpoints hold the memory and the densities drawn from, so that both must be numbers, text, arrays, tuples,
    or dataclasses marked :func:`~steinbox.serializable`; steinbox's own densities are.

    Examples
    --------
    A proposer that adds draws of the initial distribution, twice as wide, to every batch:

    >>> import steinbox as sb
    >>> class Wide(sb.Proposer):
    ...     name = "wide"
    ...     def propose(self, view, memory, rng):
    ...         return sb.adaptive.Draws(sb.Gaussian([0.0, 0.0], std=6.0)), memory
    >>> method = sb.AdaptiveImportanceSampling(proposers=(*sb.adaptive.DEFAULT_PROPOSERS, Wide()))
    >>> result = sb.sample(sb.targets.Banana().log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, method=method,
    ...                    num_particles=100, max_evals=2_000, seed=0)
    >>> "fitted family, wide" in result.trace["proposers"]
    True
    """

    name: ClassVar[str]

    @abstractmethod
    def propose(self, view: View, memory: Any, rng: np.random.Generator) -> tuple[Offer, Any]:
        """What to draw next, and what to remember; the memory is None at first."""

    def learn(self, memory: Any, log_prob: Array) -> Any:
        """The memory with the log-densities (m,) of the points of its :class:`Probe`; −inf where they failed."""
        raise NotImplementedError(f"{self.name} offers a Probe, and needs a method learn(memory, log_prob)")

    def num_wanted(self, view: View, memory: Any) -> int:
        """Evaluations that are not to be spent on draws while a batch of its own is under way."""
        return 0

    def is_done(self, view: View, memory: Any) -> bool:
        """Whether it has nothing against stopping early."""
        return True


def allocate(
    densities: Mapping[str, Density | Initial],
    shares: Mapping[str, float],
    num_points: int,
    min_share: float,
    rng: np.random.Generator,
    step: int = 0,
) -> Batch:
    """Draws of all densities, by their shares; the first gets what rounding leaves."""
    names = list(densities)
    relative = np.array([shares.get(name, 1 / len(names)) for name in names])
    counts = (raise_to_floor(relative / relative.sum(), min_share) * num_points).astype(int)
    counts[0] = num_points - counts[1:].sum()
    draws = [_draw(densities[name], int(count), rng) for name, count in zip(names, counts, strict=True)]
    sources = tuple(Source(name, densities[name], int(count), step) for name, count in zip(names, counts, strict=True))
    return Batch(np.concatenate(draws), sources, is_shared=True)


def _draw(density: Density | Initial, num_points: int, rng: np.random.Generator) -> Array:
    """Quasi-random draws if the density has them."""
    draw = getattr(density, "quasi_random", None) or density.sample
    return np.asarray(draw(num_points, rng))


def update_shares(state: AdaptiveState, min_share: float) -> Mapping[str, float]:
    r"""The shares after a batch: half the old one, half what a draw has earned, its mean tempered weight,

    .. math:: s_k \leftarrow \tfrac12 \Big( s_k + \frac{\bar w_k}{\sum_l \bar w_l} \Big), \qquad s_k \ge s_{\min}.

    Nothing changes if a proposer had the batch for itself.
    """
    sources = state.archive.sources[-len(state.next.sources) :]
    names = list(dict.fromkeys(source.proposer for source in sources))
    owners = np.repeat([names.index(each.proposer) for each in sources], [each.count for each in sources])
    if len(names) < 2 or np.bincount(owners, minlength=len(names)).min() == 0:
        return state.shares
    weights = normalize(state.tempering * finite_log_weights(state.archive.log_weights))[-len(owners) :]
    earned = np.array([weights[owners == k].mean() for k in range(len(names))])
    old = np.array([state.shares.get(name, 1 / len(names)) for name in names])
    new = 0.5 * (old / old.sum() + earned / max(earned.sum(), 1e-300))
    return {**state.shares, **dict(zip(names, raise_to_floor(new, min_share).tolist(), strict=True))}


def raise_to_floor(shares: Array, floor: float) -> Array:
    """Shares that are all at least the floor (or equal, if they cannot be), the others scaled down to make room.

    Examples
    --------
    >>> import numpy as np
    >>> raise_to_floor(np.array([0.02, 0.58, 0.4]), 0.1).round(2)
    array([0.1 , 0.53, 0.37])
    """
    floor = min(floor, 1 / len(shares))
    is_low = np.zeros(len(shares), dtype=bool)
    while (is_below := ~is_low & (shares < floor)).any():  # scaling down may bring others below the floor
        is_low |= is_below
        rest = max(1 - floor * is_low.sum(), 0.0)
        shares = np.where(is_low, floor, shares * rest / max(shares[~is_low].sum(), 1e-300))
    return shares
