r"""Adaptive importance sampling in ask, evaluate, tell.

.. code-block:: text

   draws of q_t ─► archive ─ weights p / Σ_j n_j q_j ─► tempered ─► proposers: q_{t+1} ─► draws … ─► n points chosen
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.noise import Noise
from steinbox.densities.density import Density
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.family import Fitted
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation
from steinbox.numerics.weights import normalize, temper
from steinbox.samplers.adaptive.output import make_sample
from steinbox.samplers.adaptive.proposer import (
    Block,
    Draws,
    Offer,
    Probe,
    Proposer,
    Reserve,
    View,
    allocate,
    update_shares,
)
from steinbox.samplers.adaptive.smoothing import smooth_state
from steinbox.samplers.adaptive.state import AdaptiveState, Batch
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive, finite_log_weights, temper_points
from steinbox.samplers.base import Info, Problem, Sample, Sampler, StalledError

if TYPE_CHECKING:
    from steinbox.samplers.adaptive.method import AdaptiveImportanceSampling


@dataclass(frozen=True)
class AdaptiveSampler(Sampler[AdaptiveState]):
    """Settings and what they are used for: an initial distribution and a number of particles."""

    settings: AdaptiveImportanceSampling
    initial: Initial
    num_particles: int
    noise: Noise | None = None

    @property
    def is_noisy(self) -> bool:
        """Whether log-densities are estimates."""
        return self.noise is not None

    @property
    def tolerates_empty_batch(self) -> bool:
        """A batch outside the support is one that the next proposal learns from."""
        return True

    def explores(self, state: AdaptiveState) -> bool:
        """Draws of the start, scans and climbs go where the fitted density does not."""
        return not state.next.is_shared

    def start(self, problem: Problem, rng: np.random.Generator) -> AdaptiveState:
        """The first batch: draws of the initial distribution."""
        size = min(self._first_part(problem.dimension, problem.max_evals), problem.max_evals)
        archive = WeightedArchive.empty(problem.dimension)
        return AdaptiveState(archive, self._draw_initial(size, rng), problem.max_evals)

    def warm_start(self, state: AdaptiveState, points: Array, log_prob: Array) -> AdaptiveState:
        """Half of the first draws from a family fitted to values of earlier runs, and from then on all.

        How densely those points were proposed is not known, so that they show where to look but are not weighted: their
        own density is fitted first, and their values are weighted by that.
        """
        rng, family, tuning = np.random.default_rng(0), self.settings.family, self.settings.tuning
        inside = np.isfinite(log_prob)
        if inside.sum() < 2 * points.shape[1] + 10:
            return state
        points, log_prob = points[inside], log_prob[inside]
        equal = WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points))
        density = family.choose(equal, rng, None).density
        log_weights = log_prob - density.log_prob(points)
        wanted = max(tuning.min_first_part, tuning.min_tempered_fraction * len(points))
        power = temper(finite_log_weights(log_weights), min(wanted, 0.5 * len(points)))
        fitted = family.choose(temper_points(points, log_weights, power), rng, None)
        num_drawn = len(state.next.points)
        half = num_drawn // 2
        draws = np.concatenate([state.next.points[half:], fitted.density.quasi_random(half, rng)])
        sources = (
            Source("initial", None, num_drawn - half),
            Source("earlier runs", fitted.density, half),
        )
        return replace(state, next=Batch(draws, sources), fit=fitted)

    def extend(self, state: AdaptiveState, max_evals: int, rng: np.random.Generator) -> AdaptiveState:
        """The state with a larger budget."""
        state = replace(state, max_evals=max_evals)
        return state if len(state.next.points) > 0 else self._decide_next(state, rng)

    def ask(self, state: AdaptiveState, rng: np.random.Generator) -> Array:
        """The next points."""
        return state.next.points

    def tell(
        self, state: AdaptiveState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[AdaptiveState, Info]:
        """Archive the values, weight everything anew, and decide what to draw next."""
        batch = state.next
        state = replace(state, num_evals=state.num_evals + len(points))
        if batch.probed_by is not None:
            state = self._teach(state, batch.probed_by, evaluation)
        else:
            state = self._archive(state, points, evaluation)
            state = self._temper(state) if state.archive.num_inside > 0 else state
        state = self._decide_next(state, rng)
        return state, _info(state, batch.proposers)

    def is_converged(self, state: AdaptiveState) -> bool:
        """Whether the points are worth so much, and agree so well with what they said before, that more is no use."""
        if not self._is_enough(state):
            return False
        view = self._view(state, state.num_left)
        return all(each.is_done(view, state.memories.get(each.name)) for each in self.settings.proposers)

    def is_finished(self, state: AdaptiveState) -> bool:
        """Whether the budget is spent."""
        return state.num_evals >= state.max_evals or len(state.next.points) == 0

    def sample(self, state: AdaptiveState) -> Sample:
        """Points chosen from the archive, equally weighted."""
        return make_sample(state, self.num_particles, self.initial, self.settings.tuning)

    def mean_log_prob(self, state: AdaptiveState) -> float:
        """That of all weighted points: no particles are chosen for it."""
        weights = normalize(state.archive.log_weights)
        return float(weights @ np.where(weights > 0, state.archive.log_prob, 0.0))

    # -- without waiting for whole batches -----------------------------------------------------------------------------

    def draw(self, state: AdaptiveState, index: int, rng: np.random.Generator) -> Batch | None:
        """The next batch; then more draws of the densities of the last shared one, or of the initial distribution."""
        if index == 0:
            return state.next
        size = self._batch_size(state.archive.dimension, state.max_evals)
        if state.shared:
            return self._allocate(state, state.shared, size, rng)
        return self._draw_initial(size, rng) if state.fit is None else None

    def tell_parts(
        self, state: AdaptiveState, parts: Sequence[tuple[Batch, Evaluation]], num_out: int, rng: np.random.Generator
    ) -> tuple[AdaptiveState, Info]:
        """Archive the values, each with the density it was drawn from, and decide what to draw from now on.

        While a proposer waits for a batch of its own, the others are asked for densities.
        """
        num_told = sum(len(batch.points) for batch, _ in parts)
        state = replace(state, num_evals=state.num_evals + num_told, num_out=num_out)
        draws = [part for part in parts if part[0].probed_by is None]
        for is_shared in (False, True):  # those that compete are the last, and may be all
            state = self._archive_parts(state, [part for part in draws if part[0].is_shared == is_shared])
        if draws:
            state = self._temper(state)
        for batch, evaluation in parts:
            if batch.probed_by is not None:
                state = self._teach(state, batch.probed_by, evaluation)
        waits_for = "" if any(batch.is_whole for batch, _ in parts) else state.waits_for
        state = replace(state, next=Batch.nothing(state.archive.dimension), waits_for=waits_for)
        state = self._decide_next(state, rng)
        names = dict.fromkeys(name for batch, _ in parts for name in batch.proposers.split(", "))
        return replace(state, waits_for=state.next.asked_by or waits_for), _info(state, ", ".join(names))

    def _archive_parts(self, state: AdaptiveState, parts: Sequence[tuple[Batch, Evaluation]]) -> AdaptiveState:
        if not parts:
            return state
        batch, evaluation = Batch.join([each for each, _ in parts]), Evaluation.join([values for _, values in parts])
        return self._archive(replace(state, next=batch), batch.points, evaluation)

    def num_to_tell(self, state: AdaptiveState) -> int:
        """A batch."""
        return self._usual_size(state) if state.next.is_whole else len(state.next.points)

    def num_reserved(self, state: AdaptiveState) -> int:
        """Those that a proposer wants for the end, if it is not there, or while its own batch is under way."""
        is_end = not state.waits_for and state.num_out == 0 and state.num_left <= state.num_reserved
        return 0 if is_end else state.num_reserved

    # -- the parts of tell ---------------------------------------------------------------------------------------------

    def _archive(self, state: AdaptiveState, points: Array, evaluation: Evaluation) -> AdaptiveState:
        """The state with the new points; those that failed are as if they had never been drawn."""
        worked, sources = ~evaluation.failed, state.next.sources
        owners = np.repeat(np.arange(len(sources)), [source.count for source in sources])
        counts = np.bincount(owners[worked], minlength=len(sources)).tolist()
        sources = tuple(replace(source, count=count) for source, count in zip(sources, counts, strict=True))
        archive = state.archive.extend(points[worked], evaluation.log_prob[worked], sources, self.initial)
        state = replace(state, archive=archive)
        return state if self.noise is None else smooth_state(state, evaluation.log_prob[worked], self.noise)

    def _teach(self, state: AdaptiveState, name: str, evaluation: Evaluation) -> AdaptiveState:
        """The state with what a proposer has learned from points that are no draws."""
        proposer = next(each for each in self.settings.proposers if each.name == name)
        log_prob = np.where(evaluation.failed, -np.inf, evaluation.log_prob)
        return replace(state, memories={**state.memories, name: proposer.learn(state.memories[name], log_prob)})

    def _temper(self, state: AdaptiveState) -> AdaptiveState:
        """The state with the power that leaves the weights an effective sample size to learn from."""
        archive, tuning = state.archive, self.settings.tuning
        batch = self._batch_size(archive.dimension, state.max_evals)
        least = max(batch / 4, 5 * archive.dimension, tuning.min_first_part)
        wanted = max(least, tuning.min_tempered_fraction * len(archive))
        log_weights = finite_log_weights(archive.log_weights)
        state = replace(state, tempering=temper(log_weights, min(wanted, 0.9 * archive.num_inside)))
        if state.next.is_shared:
            state = replace(state, shares=update_shares(state, tuning.min_share))
        return state.with_milestone()

    def _decide_next(self, state: AdaptiveState, rng: np.random.Generator) -> AdaptiveState:
        """The state with its next batch: the first block that a proposer offers, or draws of all that share it."""
        num_left, state = state.num_left, replace(state, num_reserved=0)
        if num_left == 0:
            return replace(state, next=Batch.nothing(state.archive.dimension))
        num_initial = self._num_initial(state)
        if num_initial > 0:
            return replace(state, next=self._draw_initial(min(num_initial, num_left), rng))
        shared: dict[str, Density | Initial] = {}
        for proposer in self.settings.proposers:
            if proposer.name == state.waits_for:
                shared |= {name: each for name, each in state.shared.items() if name == proposer.name}
                state = self._reserve(state, proposer)
                continue
            before = state
            state, offer = self._ask_proposer(proposer, state, num_left, rng)
            match offer:
                case Block() | Probe() if state.waits_for:  # one at a time
                    state = before
                case Block(points) | Probe(points) if len(points) > state.num_left:
                    raise StalledError(f"{proposer.name} offers a block of {len(points)} points, too many")
                case Block(points, sources):
                    return replace(state, next=Batch(points, sources, asked_by=proposer.name))
                case Probe(points):
                    own = Batch(points, (), probed_by=proposer.name, asked_by=proposer.name)
                    return replace(self._reserve(state, proposer), next=own)
                case Reserve(num_evals):
                    num_left -= num_evals
                    state = replace(state, num_reserved=state.num_reserved + num_evals)
                case Fitted(density=density):
                    state = replace(state, fit=offer)
                    shared[proposer.name] = density
                case Draws(density):
                    shared[proposer.name] = density
                case None:
                    pass
                case _:
                    raise TypeError(
                        f"expected {proposer.name} to offer Draws(density), Block(…) or None, got {offer!r}"
                    )
        if not shared:
            raise StalledError("no proposer offered a density to draw from; FittedFamily() always does")
        num_next = self._num_next(state, num_left if num_left > 0 else state.num_left)
        return replace(state, next=self._allocate(state, shared, num_next, rng), shared=shared)

    def _allocate(
        self, state: AdaptiveState, shared: Mapping[str, Density | Initial], size: int, rng: np.random.Generator
    ) -> Batch:
        return allocate(shared, state.shares, size, self.settings.tuning.min_share, rng, step=len(state.path))

    def _num_initial(self, state: AdaptiveState) -> int:
        """Draws of the initial distribution that are missing: of the first batch, or if hardly any point is inside."""
        dimension = state.archive.dimension
        size = len(state.next.points) or self._first_part(dimension, state.max_evals)
        missing = self._batch_size(dimension, state.max_evals) - state.num_evals
        if state.fit is None and missing > 0:
            return min(missing, size)
        return size if state.archive.num_inside < self.settings.tuning.min_inside else 0

    def _draw_initial(self, size: int, rng: np.random.Generator) -> Batch:
        return Batch(np.ascontiguousarray(self.initial.sample(size, rng)), (Source("initial", None, size),))

    def _ask_proposer(
        self, proposer: Proposer, state: AdaptiveState, num_left: int, rng: np.random.Generator
    ) -> tuple[AdaptiveState, Offer]:
        """Its offer, and the state with its memory; a matrix that cannot be inverted ends the run and loses nothing."""
        memory = state.memories.get(proposer.name)
        try:
            offer, memory = proposer.propose(self._view(state, num_left), memory, rng)
        except np.linalg.LinAlgError as error:
            raise StalledError(f"{proposer.name} failed: {error}") from error
        return replace(state, memories={**state.memories, proposer.name: memory}), offer

    def _reserve(self, state: AdaptiveState, proposer: Proposer) -> AdaptiveState:
        """The state without what a proposer wants for itself while its batch is under way."""
        wanted = proposer.num_wanted(self._view(state, state.num_left), state.memories.get(proposer.name))
        return replace(state, num_reserved=state.num_reserved + wanted)

    def _view(self, state: AdaptiveState, num_left: int) -> View:
        return View(
            archive=state.archive,
            fit=state.fit,
            tempering=state.tempering,
            path=state.path,
            shares=state.shares,
            family=self.settings.family,
            initial=self.initial,
            num_particles=self.num_particles,
            max_evals=state.max_evals,
            num_evals=state.num_evals,
            num_left=num_left,
            num_out=state.num_out,
            batch_size=self._batch_size(state.archive.dimension, state.max_evals),
            is_enough=self._is_enough(state),
            is_noisy=self.is_noisy,
            tuning=self.settings.tuning,
            noise=self.noise,
        )

    def _is_enough(self, state: AdaptiveState) -> bool:
        """Whether the points are worth far more than the particles, in all tails, and the evidence has settled.

        The last third of them must have changed it by next to nothing.
        """
        if not (self.settings.stop_early and state.tempering == 1):
            return False
        tuning = self.settings.tuning
        wanted = (2 if self.is_noisy else 1) * tuning.draws_per_particle * self.num_particles
        change = abs(state.log_evidence - state.path_at(2 / 3).log_evidence)
        if not (state.effective_sample_size >= wanted and change < tuning.max_evidence_change):
            return False
        return not state.archive.thinnest_tail.is_thin

    def _batch_size(self, dimension: int, max_evals: int) -> int:
        if self.settings.batch is not None:
            return self.settings.batch
        tuning = self.settings.tuning
        smallest = min(max(tuning.min_batch, 10 * dimension), max(max_evals // 6, 20))
        return int(np.clip(int(tuning.batch_fraction * max_evals), smallest, tuning.max_batch))

    def _first_part(self, dimension: int, max_evals: int) -> int:
        """Evaluations at a time while the first batch is drawn."""
        tuning, batch = self.settings.tuning, self._batch_size(dimension, max_evals)
        return max(min(tuning.min_first_part, batch), batch // tuning.num_first_parts)

    def _num_next(self, state: AdaptiveState, num_left: int) -> int:
        """A batch, larger once the weights are even; what would be left over is added to the last."""
        size, wanted = self._batch_size(state.archive.dimension, state.max_evals), self._usual_size(state)
        return num_left if num_left < wanted + size // 2 else wanted

    def _usual_size(self, state: AdaptiveState) -> int:
        size = self._batch_size(state.archive.dimension, state.max_evals)
        return size if state.tempering < 1 else max(size, int(self.settings.tuning.growth * len(state.archive)))


def _info(state: AdaptiveState, proposers: str) -> Info:
    return {
        "proposers": proposers,
        "tempering": state.tempering,
        "effective_sample_size": state.effective_sample_size,
        "num_components": 0 if state.fit is None else getattr(state.fit.density, "num_components", 1),
        "log_evidence": state.log_evidence,
    }
