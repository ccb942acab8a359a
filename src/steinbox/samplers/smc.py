r"""Adaptive tempered sequential Monte Carlo."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation
from steinbox.numerics.weights import normalize, systematic_resample, temper
from steinbox.samplers.acceptance import acceptance_probability
from steinbox.samplers.annealing import interpolate, path_warnings
from steinbox.samplers.base import Info, Problem, Sample
from steinbox.samplers.fixed_length import AnnealedFixedLength, CountingSampler


@serializable("smc-state")
@dataclass(frozen=True, eq=False)
class SMCState:
    """Equally weighted particles of the tempered target, and where they may move."""

    points: Array
    log_prob: Array
    proposed: Array
    correction: Array
    fit: Gaussian | None
    temperature: float
    log_evidence: float
    log_scale: float
    moves_at_temperature: int
    iteration: int
    num_iterations: int


@dataclass(frozen=True, kw_only=True)
class SMC(AnnealedFixedLength[SMCState]):
    r"""Sequential Monte Carlo along the path :math:`p_0^{1-\alpha} p^{\alpha}` (Del Moral, Doucet & Jasra, 2006).

    The next temperature is the largest that leaves the weights an effective sample size of ``share`` n. Particles are
    resampled systematically and moved by Metropolis-Hastings, in turn independently from a Gaussian fitted to them and
    by a random walk of its shape. Once at the target itself, they are moved until the budget is spent.

    Parameters
    ----------
    num_iterations : int, optional
        Moves in all. If not given, as many as the budget allows.
    moves_per_temperature : int
    share : float

    Notes
    -----
    ``result.trace`` has, after each move, its ``temperature`` and mean probability of ``acceptance``, and the estimate
    of :math:`\log \int p / \int p_0` so far (``log_evidence``).

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> result = sb.sample(lambda x: -0.5 * np.sum((x - 5) ** 2), sb.Gaussian([0.0, 0.0], std=3.0), num_particles=200,
    ...                    max_evals=10_000, method=sb.baselines.SMC(), seed=0)
    >>> bool(abs(result.trace["log_evidence"][-1] - np.log(2 * np.pi)) < 0.5)
    True
    """

    moves_per_temperature: int = 5
    share: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.moves_per_temperature < 1 or not 0 < self.share < 1:
            raise ValueError("SMC expects at least one move per temperature and a share between 0 and 1")

    def plan(self, problem: Problem) -> SMCSampler:
        """The path starts at the initial distribution if no base was given."""
        return SMCSampler(self, self.path_base(problem), self.count_iterations(problem))


@dataclass(frozen=True)
class SMCSampler(CountingSampler[SMCState]):
    """Sequential Monte Carlo with its path."""

    settings: SMC
    base: Initial
    num_iterations: int

    @property
    def tolerates_empty_batch(self) -> bool:
        """Particles whose proposals all lie outside the support stay where they are."""
        return True

    def start(self, problem: Problem, rng: np.random.Generator) -> SMCState:
        """The particles before they are evaluated."""
        particles = problem.particles
        return SMCState(
            points=particles,
            log_prob=np.full(len(particles), -np.inf),
            proposed=particles,
            correction=np.zeros(len(particles)),
            fit=None,
            temperature=0.0,
            log_evidence=0.0,
            log_scale=0.0,
            moves_at_temperature=self.settings.moves_per_temperature,
            iteration=0,
            num_iterations=self.num_iterations,
        )

    def ask(self, state: SMCState, rng: np.random.Generator) -> Array:
        """The proposed moves."""
        return state.proposed

    def tell(
        self, state: SMCState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[SMCState, Info]:
        """Accept or reject; when this temperature has had its moves, go on to the next."""
        if state.iteration == 0:
            state, acceptance = replace(state, log_prob=evaluation.log_prob), 1.0
        else:
            state, acceptance = self._move(state, points, evaluation, rng)
        if state.moves_at_temperature >= self.settings.moves_per_temperature and state.temperature < 1:
            state = self._heat(state, rng)
        state = self._propose(state, rng)
        info = {
            "temperature": state.temperature,
            "acceptance": acceptance,
            "log_evidence": state.log_evidence,
        }
        return replace(state, iteration=state.iteration + 1), info

    def _move(
        self, state: SMCState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[SMCState, float]:
        current = self._log_path(state.points, state.log_prob, state.temperature)
        proposed = self._log_path(points, evaluation.log_prob, state.temperature)
        probability = acceptance_probability(current, proposed, state.correction)
        accepted = rng.random(len(points)) < probability
        acceptance = float(probability.mean())
        was_walk = not state.correction.any()
        return replace(
            state,
            points=np.where(accepted[:, None], points, state.points),
            log_prob=np.where(accepted, evaluation.log_prob, state.log_prob),
            log_scale=state.log_scale + (acceptance - 0.234 if was_walk else 0.0),
            moves_at_temperature=state.moves_at_temperature + 1,
        ), acceptance

    def _heat(self, state: SMCState, rng: np.random.Generator) -> SMCState:
        """Reweight to the next temperature and resample."""
        log_ratio = state.log_prob - self.base.log_prob(state.points)
        wanted = self.settings.share * np.isfinite(log_ratio).sum()
        step = temper(log_ratio, wanted, max_power=1 - state.temperature)
        weights = normalize(step * log_ratio)
        kept = systematic_resample(weights, len(weights), rng)
        temperature = 1.0 if step == 1 - state.temperature else state.temperature + step
        return replace(
            state,
            points=state.points[kept],
            log_prob=state.log_prob[kept],
            fit=_fit_gaussian(state.points, weights),
            temperature=temperature,
            log_evidence=state.log_evidence + float(logsumexp(step * log_ratio) - np.log(len(log_ratio))),
            moves_at_temperature=0,
        )

    def _propose(self, state: SMCState, rng: np.random.Generator) -> SMCState:
        fit = state.fit
        if fit is None:  # not yet heated
            raise ValueError("an SMC state proposes after its first temperature")
        if state.moves_at_temperature % 2 == 0:
            proposed = fit.sample(len(state.points), rng)
            return replace(state, proposed=proposed, correction=fit.log_prob(state.points) - fit.log_prob(proposed))
        scale = np.exp(state.log_scale) * 2.38 / np.sqrt(fit.dimension)
        proposed = state.points + scale * (fit.sample(len(state.points), rng) - fit.mean)
        return replace(state, proposed=proposed, correction=np.zeros(len(proposed)))

    def _log_path(self, points: Array, log_prob: Array, temperature: float) -> Array:
        return interpolate(self.base.log_prob(points), log_prob, temperature)

    def sample(self, state: SMCState) -> Sample:
        """The particles, equally weighted inside the support."""
        sample = Sample.equally_weighted(state.points, state.log_prob, path_warnings(state.temperature))
        return replace(sample, log_evidence=state.log_evidence)


def _fit_gaussian(points: Array, weights: Array) -> Gaussian:
    """A Gaussian that covers the weighted particles."""
    counts = weights > 0
    return Gaussian.fit(points[counts], weights[counts] / weights[counts].sum())
