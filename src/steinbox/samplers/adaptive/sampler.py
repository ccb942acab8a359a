r"""The archive sampler in ask, evaluate, tell.

.. code-block:: text

   draws of q_t ─► ledger ─ weights p / Σ_j n_j q_j ─► tempered ─► mixture q_{t+1} ─► draws … ─► n points chosen
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_count, require_noise, require_number
from steinbox.densities.density import Density
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.quadratic import quadratic_proposal
from steinbox.densities.fitting.weighted_points import WeightedPoints
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation
from steinbox.numerics.weights import normalize, temper
from steinbox.samplers.adaptive.output import answer
from steinbox.samplers.adaptive.refine import begin_polish, could_be_polished, end_polish
from steinbox.samplers.adaptive.search import following, is_searched_out, scanning
from steinbox.samplers.adaptive.state import AdaptiveState, Batch
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive, floored, weighted_sample
from steinbox.samplers.base import Info, Problem, Sample, Sampler

_FIRST_PARTS = 4  # the first batch comes in so many parts, or Ctrl-C would lose all of it
_FEWEST_FIRST = 50  # points of the first part, of which one must be inside the support
_FEWEST_INSIDE = 10  # points inside the support to fit anything to
_GROWN = 1.3  # how much more the points must be worth before another shape of mixture is tried
_WITH_JUMP = "mixture and jump"
_ENOUGH = 20  # times as many independent draws as particles: more would not change the answer
_ENOUGH_NOISY = 2  # times as many, if log p is noisy: then quasi-random draws are worth no more than independent ones


@dataclass(frozen=True, kw_only=True)
class AdaptiveImportanceSampling(Sampler[AdaptiveState]):
    r"""Adaptive multiple importance sampling with curved mixtures, and n particles chosen from every evaluation.

    Every point :math:`x_i` has the deterministic-mixture weight (Owen & Zhou, 2000; Cornuet et al., 2012)

    .. math:: w_i = p(x_i) \Big/ \sum_j n_j q_j(x_i)

    over all proposals :math:`q_j` used so far. While the weights are uneven they are tempered, :math:`w^a`, to an
    effective sample size that can teach a mixture of Gaussians behind a triangular map: clusters, or shells around one
    mean where tails are heavy. The next points are quasi-random draws of it and, while :math:`a < 1`, of a Gaussian
    from a quadratic fitted to all log-densities. Up to a fifth of the budget searches for mass that the mixture has
    missed. At the end :func:`~steinbox.select` chooses the particles. If the
    points are worth few independent draws but a regression of the log-densities of the heaviest is good enough, the
    last points are chosen from many that it weighs. They are the particles if it foretold their densities well, and
    otherwise weighed with the other points, as draws of what it foretold.

    ``result.trace`` has, after each batch, what is drawn next (``decision``), the power a (``tempering``), the
    effective sample size of the untempered weights, the number of components of the mixture and the log-evidence.

    Parameters
    ----------
    batch : int, optional
        Evaluations at a time. If not given, a fiftieth of the budget, at least 200 and 10 d (but a sixth of a small
        budget), at most 2,000.
    growth : float
        Once :math:`a = 1`, a batch is at least this share of all points so far.
    stop_early : bool
        Whether to stop when the points are worth twenty times as many independent draws as there are particles, and
        the last third of them did not change the log-evidence: then more would hardly change the particles. (Forty
        times if log p is noisy.)
    noise : float or bool
        Whether log p is an estimate; :func:`~steinbox.sample` passes on what it was told.
    base : Initial, optional
        What the first points are drawn from, and the search; with a normalised density. If not given, the initial
        distribution of the run.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True,
    ...                    method=sb.AdaptiveImportanceSampling(), num_particles=100, max_evals=3_000, seed=0)
    >>> result.particles.shape, bool(abs(result.log_evidence) < 0.1)
    ((100, 2), True)
    """

    batch: int | None = None
    growth: float = 0.25
    stop_early: bool = True
    noise: float | bool = False
    base: Initial | None = None

    def __post_init__(self) -> None:
        require_number("growth", self.growth)
        require_noise(self.noise)
        if self.batch is not None:
            require_count("batch", self.batch, 20)

    @property
    def tolerates_empty_batch(self) -> bool:
        """A batch outside the support is one that the next proposal learns from."""
        return True

    def plan(self, problem: Problem) -> AdaptiveImportanceSampling:
        """The first draws are of the initial distribution if no base was given."""
        base = problem.initial if self.base is None else self.base
        return replace(self, base=base, noise=self.noise or problem.noise)

    def start(self, problem: Problem, rng: np.random.Generator) -> AdaptiveState:
        """The first batch: draws of the initial distribution."""
        num_particles, dimension, max_evals = problem.num_particles, problem.dimension, problem.max_evals
        if max_evals < 2 * num_particles:
            raise ValueError(
                f"a budget of max_evals={max_evals} is too small to choose {num_particles} particles from; at least "
                f"{2 * num_particles} evaluations are needed"
            )
        batch = self._batch_size(dimension, max_evals)
        size = min(max(min(_FEWEST_FIRST, batch), batch // _FIRST_PARTS), max_evals)
        return AdaptiveState(WeightedArchive.empty(dimension), self._first(size, rng), num_particles, max_evals)

    def warm_start(self, state: AdaptiveState, points: Array, log_prob: Array) -> AdaptiveState:
        """Half of the first draws from a mixture fitted to values of earlier runs, and from then on all.

        How densely those points were proposed is not known, so that they teach where to look but are not weighed: their
        own density is fitted first, and their values are weighed against that.
        """
        rng = np.random.default_rng(0)
        inside = np.isfinite(log_prob)
        if inside.sum() < 2 * points.shape[1] + 10:
            return state
        points, log_prob = points[inside], log_prob[inside]
        equal = np.full(len(points), 1 / len(points))
        density = CurvedMixtures().choose(WeightedPoints(points, equal, len(points)), rng).density
        log_weights = log_prob - density.log_prob(points)
        power = temper(floored(log_weights), min(max(50, 0.05 * len(points)), 0.5 * len(points)))
        fitted = CurvedMixtures().choose(weighted_sample(points, log_weights, power), rng)
        half = len(state.next.points) // 2
        draws = np.concatenate([state.next.points[half:], fitted.density.quasi_random(half, rng)])
        batch = Batch("earlier runs", draws, (None, fitted.density), (len(state.next.points) - half, half))
        return replace(state, next=batch, fitted=fitted)

    def extend(self, state: AdaptiveState, max_evals: int, rng: np.random.Generator) -> AdaptiveState:
        """The state with a larger budget."""
        going_on = state.polish is None and len(state.next.points) > 0
        state = replace(state, max_evals=max_evals, polish=None)
        return state if going_on else self._decided(state, rng)

    def ask(self, state: AdaptiveState, rng: np.random.Generator) -> Array:
        """The next draws."""
        return state.next.points

    def tell(
        self, state: AdaptiveState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[AdaptiveState, Info]:
        """Archive the values, weigh everything anew, and decide what to draw next."""
        state = replace(state, num_evals=state.num_evals + len(points))
        if state.polish is not None:
            state = end_polish(self._weighed(self._archived(state, points, evaluation)), state.polish, evaluation)
        else:
            state = self._decided(self._weighed(self._archived(state, points, evaluation)), rng)
        return state, _info(state)

    def is_converged(self, state: AdaptiveState) -> bool:
        """Whether the points are worth so much, and agree so well with what they said before, that more is no use."""
        return self.stop_early and is_searched_out(state) and self._is_enough(state)

    def is_finished(self, state: AdaptiveState) -> bool:
        """Whether the budget is spent."""
        return state.num_evals >= state.max_evals or len(state.next.points) == 0

    def progress(self, state: AdaptiveState) -> float:
        """The part of the budget that is spent."""
        return min(1.0, state.num_evals / state.max_evals)

    def sample(self, state: AdaptiveState) -> Sample:
        """Points chosen from the archive, equally weighted."""
        return answer(state, self._initial)

    def mean_log_prob(self, state: AdaptiveState) -> float:
        """That of all weighted points: no particles are chosen for it."""
        log_weights = state.ledger.log_weights
        inside = np.isfinite(log_weights)
        return float(normalize(log_weights[inside]) @ state.ledger.log_prob[inside])

    # -- the parts of tell ---------------------------------------------------------------------------------------------

    @property
    def _initial(self) -> Initial:
        if self.base is None:
            raise ValueError("bind the sampler to an initial distribution first, or give it a base")
        return self.base

    def _first(self, size: int, rng: np.random.Generator) -> Batch:
        return Batch("initial", np.ascontiguousarray(self._initial.sample(size, rng)), (None,), (size,))

    def _batch_size(self, dimension: int, max_evals: int) -> int:
        if self.batch is not None:
            return self.batch
        fewest = min(max(200, 10 * dimension), max(max_evals // 6, 20))
        return int(np.clip(max_evals // 50, fewest, 2000))

    def _archived(self, state: AdaptiveState, points: Array, evaluation: Evaluation) -> AdaptiveState:
        """The state with the new points; those that failed are as if they had never been drawn."""
        worked = ~evaluation.failed
        owners = np.repeat(np.arange(len(state.next.counts)), state.next.counts)
        counts = np.bincount(owners[worked], minlength=len(state.next.counts))
        ledger = state.ledger.extended(
            points[worked], evaluation.log_prob[worked], state.next.proposals, counts.tolist(), self._initial
        )
        return replace(state, ledger=ledger)

    def _weighed(self, state: AdaptiveState) -> AdaptiveState:
        """The state with the power that leaves the weights an effective sample size to learn from."""
        log_weights, dimension = state.ledger.log_weights, state.ledger.points.shape[1]
        size = self._batch_size(dimension, state.max_evals)
        wanted = max(size / 4, 5 * dimension, 50, 0.05 * len(log_weights))
        tempering = temper(floored(log_weights), min(wanted, 0.9 * np.isfinite(log_weights).sum()))
        state = replace(state, tempering=tempering, num_even=state.num_even + (tempering == 1))
        return replace(state, jump_share=_earned(state)).remembered()

    def _decided(self, state: AdaptiveState, rng: np.random.Generator) -> AdaptiveState:
        """The state with its next batch: none, of a search, or of a mixture."""
        left = state.max_evals - state.num_evals
        if left == 0:
            return replace(state, next=Batch.nothing(state.ledger.points.shape[1]))
        missing = self._batch_size(state.ledger.points.shape[1], state.max_evals) - state.num_evals
        is_first = missing > 0 and state.fitted is None
        if is_first or np.isfinite(state.ledger.log_prob).sum() < _FEWEST_INSIDE:
            size = min(missing, len(state.next.points)) if is_first else len(state.next.points)
            return replace(state, next=self._first(min(size, left), rng))
        if could_be_polished(state):
            if left > state.num_particles:
                left -= state.num_particles  # what the polish will cost
            elif left == state.num_particles:
                polishing = begin_polish(state, self._initial, rng)
                if polishing is not None:
                    return polishing
        if state.search.is_on:
            state = following(state, left, self._initial, rng)
        elif self._ought_to_search(state):
            size = self._batch_size(state.ledger.points.shape[1], state.max_evals)
            state = scanning(state, size, left, self._initial, rng)
        return state if state.search.is_on else self._proposing(state, left, rng)

    def _ought_to_search(self, state: AdaptiveState) -> bool:
        """Once when the weights are even, for a while or late in the run, and once more before stopping early."""
        if state.fitted is None or is_searched_out(state):
            return False
        late = state.num_evals > 0.4 * state.max_evals
        ready = state.num_even >= 3 or (late and state.tempering == 1)
        return ready if state.search.num_scans == 0 else self.stop_early and self._is_enough(state)

    def _is_enough(self, state: AdaptiveState) -> bool:
        """Whether the points are worth far more than the particles, and the last third did not change the evidence."""
        wanted = _ENOUGH * (_ENOUGH_NOISY if self.noise else 1) * state.num_particles
        change = abs(state.log_evidence - state.path_at(2 / 3).log_evidence)
        plenty = state.effective_sample_size >= wanted
        return bool(plenty and state.tempering == 1 and change < 0.05)

    def _proposing(self, state: AdaptiveState, left: int, rng: np.random.Generator) -> AdaptiveState:
        """The state with a mixture fitted to the tempered weights, and draws of it."""
        log_weights = state.ledger.log_weights
        sample = weighted_sample(state.ledger.points, log_weights, state.tempering)
        if state.fitted is None or state.tempering < 1 or sample.effective_sample_size > _GROWN * state.chosen_at:
            state = replace(
                state, fitted=CurvedMixtures().choose(sample, rng, state.fitted), chosen_at=sample.effective_sample_size
            )
        else:
            state = replace(state, fitted=CurvedMixtures().refit(sample, state.fitted, rng))
        proposals, decision = self._proposals(state)
        num_next = self._num_next(state, left)
        num_jumps = int(state.jump_share * num_next) if len(proposals) > 1 else 0
        counts = (num_next - num_jumps, num_jumps)[: len(proposals)]
        draws = [each.quasi_random(count, rng) for each, count in zip(proposals, counts, strict=True)]
        return replace(state, next=Batch(decision, np.concatenate(draws), proposals, counts))

    def _proposals(self, state: AdaptiveState) -> tuple[tuple[Density, ...], str]:
        if state.fitted is None:
            raise ValueError("there is no mixture yet")
        if state.tempering < 1:
            ledger = state.ledger
            jump = quadratic_proposal(ledger.points, ledger.log_prob, ledger.log_weights)
            if jump is not None:
                return (state.fitted.density, GaussianMixture([jump])), _WITH_JUMP
        return (state.fitted.density,), "mixture"

    def _num_next(self, state: AdaptiveState, left: int) -> int:
        """A batch, larger once the weights are even; what would be left over is added to the last."""
        size = self._batch_size(state.ledger.points.shape[1], state.max_evals)
        wanted = size if state.tempering < 1 else max(size, int(self.growth * len(state.ledger)))
        return left if left < wanted + size // 2 else wanted


def _earned(state: AdaptiveState) -> float:
    """The share of the next draws that the jump deserves: a draw of it earned so much of the tempered weight."""
    if state.next.decision != _WITH_JUMP or min(state.ledger.counts[-2:]) == 0:
        return state.jump_share
    num_mixture, num_jump = state.ledger.counts[-2:]
    weights = normalize(state.tempering * floored(state.ledger.log_weights))
    of_mixture = weights[-num_mixture - num_jump : -num_jump].mean()
    of_jump = weights[-num_jump:].mean()
    share = of_jump / max(of_jump + of_mixture, 1e-300)
    return float(np.clip(0.5 * (state.jump_share + share), 0.1, 0.9))


def _info(state: AdaptiveState) -> Info:
    return {
        "decision": state.next.decision,
        "tempering": state.tempering,
        "effective_sample_size": state.effective_sample_size,
        "num_components": 0 if state.fitted is None else state.fitted.density.num_components,
        "log_evidence": state.log_evidence,
    }
