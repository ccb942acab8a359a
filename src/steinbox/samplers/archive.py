r"""The archive sampler: every evaluation is kept and weighted, and the particles are chosen from all of them.

.. code-block:: text

   draws of q_t ─► archive ─ weights p / Σ_j n_j q_j ─► tempered ─► mixture q_{t+1} ─► draws … ─► n points chosen
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import logsumexp

from steinbox.checks import require_number
from steinbox.evaluate import Evaluation
from steinbox.initial import Initial
from steinbox.mixture_fit import WeightedPoints, choose_mixture
from steinbox.mixtures import GaussianMixture
from steinbox.pareto import pareto_smoothed
from steinbox.quadratic import quadratic_proposal
from steinbox.quasi import quasi_random
from steinbox.samplers.base import Draws, Info, no_use_for_an_archive
from steinbox.selection import heaviest, select
from steinbox.types import Array
from steinbox.weights import effective_sample_size, normalize, temper


@dataclass(frozen=True, eq=False)
class ArchiveState:
    r"""All points so far, how densely each was proposed, and what is proposed next.

    ``log_proposed`` is :math:`\log \sum_j n_j q_j(x_i)` over all proposals and the number of points drawn from each;
    a proposal None is the initial distribution.
    """

    points: Array
    log_prob: Array
    log_proposed: Array
    proposals: tuple[GaussianMixture | None, ...]
    counts: tuple[int, ...]
    next_points: Array
    next_proposals: tuple[GaussianMixture | None, ...]
    next_counts: tuple[int, ...]
    mixture: GaussianMixture | None
    temperature: float
    num_particles: int
    max_evals: int
    num_evals: int


@dataclass(frozen=True, kw_only=True)
class ArchiveSampler:
    r"""Adaptive multiple importance sampling with mixtures, and n particles chosen from everything that was evaluated.

    Every point :math:`x_i` has the deterministic-mixture weight (Owen & Zhou, 2000; Cornuet et al., 2012)

    .. math:: w_i = p(x_i) \Big/ \sum_j \tfrac{n_j}{M} q_j(x_i)

    over all proposals :math:`q_j` used so far. While the weights are uneven they are tempered, :math:`w^a`, to an
    effective sample size that can teach a mixture; the next points are quasi-random draws of that mixture, and half of
    them, while :math:`a < 1`, of a Gaussian from a quadratic fitted to all log-densities. At the end the weights are
    Pareto-smoothed, and :func:`~steinbox.select` chooses the particles.

    ``result.trace`` has the temperature a, the effective sample size of the untempered weights, the number of
    components of the mixture and the log-evidence, :math:`\log \int p`, if the initial distribution is normalised.

    Parameters
    ----------
    batch : int, optional
        Evaluations at a time. If not given, a fiftieth of the budget, at least 200 and 10 d, at most 2,000.
    growth : float
        Once :math:`a = 1`, a batch is at least this share of all points so far.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, method=sb.ArchiveSampler(),
    ...                    num_particles=100, max_evals=3_000, seed=0)
    >>> result.particles.shape, result.num_evals
    ((100, 2), 3000)
    """

    batch: int | None = None
    growth: float = 0.25
    base: Initial | None = None

    def __post_init__(self) -> None:
        require_number("growth", self.growth)
        if self.batch is not None and self.batch < 20:
            raise ValueError(f"ArchiveSampler expects batches of at least 20 evaluations, got {self.batch}")

    @property
    def needs_score(self) -> bool:
        """No: values are enough."""
        return False

    @property
    def survives_rejection(self) -> bool:
        """A batch outside the support is one that the next proposal learns from."""
        return True

    def bind(self, initial: Initial) -> Self:
        """The first draws are of the initial distribution if no base was given."""
        return self if self.base is not None else replace(self, base=initial)

    def evals_needed(self, num_particles: int) -> int | None:
        """The budget decides."""
        return None

    def start(self, particles: Array, max_evals: int, rng: np.random.Generator) -> ArchiveState:
        """The first batch: draws of the initial distribution."""
        dimension = particles.shape[1]
        if max_evals < 2 * len(particles):
            raise ValueError(
                f"a budget of max_evals={max_evals} is too small to choose {len(particles)} particles from; at least "
                f"{2 * len(particles)} evaluations are needed"
            )
        size = min(self._batch_size(dimension, max_evals), max_evals)
        return ArchiveState(
            points=np.empty((0, dimension)),
            log_prob=np.empty(0),
            log_proposed=np.empty(0),
            proposals=(),
            counts=(),
            next_points=np.ascontiguousarray(self._initial.sample(size, rng)),
            next_proposals=(None,),
            next_counts=(size,),
            mixture=None,
            temperature=0.0,
            num_particles=len(particles),
            max_evals=max_evals,
            num_evals=0,
        )

    def informed(self, state: ArchiveState, points: Array, log_prob: Array) -> ArchiveState:
        """Not yet: the proposals of an earlier run are not known."""
        raise no_use_for_an_archive(self)

    def ask(self, state: ArchiveState, rng: np.random.Generator) -> Array:
        """The next draws."""
        return state.next_points

    def tell(
        self, state: ArchiveState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[ArchiveState, Info]:
        """Archive the values, weigh everything anew, and propose."""
        state = self._archived(state, points, evaluation)
        log_weights = state.log_prob - state.log_proposed
        size = self._batch_size(points.shape[1], state.max_evals)
        wanted = min(max(size / 4, 5 * points.shape[1], 50), 0.9 * np.isfinite(log_weights).sum())
        temperature = temper(np.maximum(log_weights, log_weights.max() - 1e4), wanted)
        state = self._proposing(replace(state, temperature=temperature), log_weights, size, rng)
        info = {
            "temperature": temperature,
            "effective_sample_size": effective_sample_size(normalize(log_weights)),
            "num_components": 0 if state.mixture is None else len(state.mixture.components),
            "log_evidence": float(logsumexp(log_weights)),
            "mean_log_prob": float(normalize(log_weights) @ np.where(np.isfinite(log_weights), state.log_prob, 0.0)),
        }
        return state, info

    def converged(self, state: ArchiveState) -> bool:
        """Never: more is always better."""
        return False

    def finished(self, state: ArchiveState) -> bool:
        """Whether the budget is spent."""
        return state.num_evals >= state.max_evals

    def progress(self, state: ArchiveState) -> float:
        """The part of the budget that is spent."""
        return state.num_evals / state.max_evals

    def draws(self, state: ArchiveState) -> Draws:
        """Points chosen from the archive, equally weighted."""
        log_weights, _ = pareto_smoothed(state.log_prob - state.log_proposed)
        chosen = select(state.points, normalize(log_weights), state.num_particles, log_prob=state.log_prob)
        return Draws(state.points[chosen], np.full(len(chosen), 1 / len(chosen)), state.log_prob[chosen])

    # -- the parts of tell ---------------------------------------------------------------------------------------------

    @property
    def _initial(self) -> Initial:
        if self.base is None:
            raise ValueError("bind the sampler to an initial distribution first, or give it a base")
        return self.base

    def _batch_size(self, dimension: int, max_evals: int) -> int:
        if self.batch is not None:
            return self.batch
        return int(np.clip(max_evals // 50, max(200, 10 * dimension), 2000))

    def _log_density(self, proposal: GaussianMixture | None, points: Array) -> Array:
        return (self._initial if proposal is None else proposal).log_prob(points)

    def _archived(self, state: ArchiveState, points: Array, evaluation: Evaluation) -> ArchiveState:
        """The state with the new points; those that failed are as if they had never been drawn."""
        worked = ~evaluation.failed
        owners = np.repeat(np.arange(len(state.next_counts)), state.next_counts)
        new_counts = np.bincount(owners[worked], minlength=len(state.next_counts))
        old, new = state.log_proposed, np.full(int(worked.sum()), -np.inf)
        for proposal, count in zip(state.proposals, state.counts, strict=True):
            new = np.logaddexp(new, _log(count) + self._log_density(proposal, points[worked]))
        for proposal, count in zip(state.next_proposals, new_counts, strict=True):
            new = np.logaddexp(new, _log(count) + self._log_density(proposal, points[worked]))
            old = np.logaddexp(old, _log(count) + self._log_density(proposal, state.points))
        return replace(
            state,
            points=np.concatenate([state.points, points[worked]]),
            log_prob=np.concatenate([state.log_prob, evaluation.log_prob[worked]]),
            log_proposed=np.concatenate([old, new]),
            proposals=state.proposals + state.next_proposals,
            counts=state.counts + tuple(int(count) for count in new_counts),
            num_evals=state.num_evals + len(points),
        )

    def _proposing(self, state: ArchiveState, log_weights: Array, size: int, rng: np.random.Generator) -> ArchiveState:
        """The state with a mixture fitted to the tempered weights, and draws of it."""
        num_next = self._num_next(state, size)
        if num_next == 0:
            return state
        weights = normalize(state.temperature * np.maximum(log_weights, log_weights.max() - 1e4))
        pool = heaviest(weights)
        sample = WeightedPoints(state.points[pool], weights[pool] / weights[pool].sum(), effective_sample_size(weights))
        mixture = choose_mixture(sample, rng, state.mixture)
        proposals: tuple[GaussianMixture, ...] = (mixture,)
        if state.temperature < 1:
            jump = quadratic_proposal(state.points, state.log_prob, log_weights)
            proposals = proposals if jump is None else (mixture, GaussianMixture([jump]))
        counts = [num_next // len(proposals)] * len(proposals)
        counts[0] += num_next - sum(counts)
        draws = [quasi_random(each, count, rng) for each, count in zip(proposals, counts, strict=True)]
        return replace(
            state,
            next_points=np.concatenate(draws),
            next_proposals=proposals,
            next_counts=tuple(counts),
            mixture=mixture,
        )

    def _num_next(self, state: ArchiveState, size: int) -> int:
        """A batch, larger once the weights are even; what would be left over is added to the last."""
        left = state.max_evals - state.num_evals
        wanted = size if state.temperature < 1 else max(size, int(self.growth * len(state.points)))
        return left if left < wanted + size // 2 else wanted


def _log(count: int) -> float:
    return float(np.log(count)) if count else -np.inf
