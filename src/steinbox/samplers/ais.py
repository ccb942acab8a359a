r"""Annealed importance sampling with Langevin moves, by the target's score or by a surrogate's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from steinbox.common.arrays import Array
from steinbox.common.checks import is_number, require_component
from steinbox.common.serialization import serializable
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation
from steinbox.maps.coordinates import Affine, Coordinates, Whitened
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.samplers.acceptance import acceptance_probability, robbins_monro
from steinbox.samplers.annealing import Schedule, interpolate, path_warnings
from steinbox.samplers.base import Info, Problem, Sample, StalledError
from steinbox.samplers.fixed_length import AnnealedFixedLength, CountingSampler
from steinbox.surrogates.base import Builder, Surrogate, as_builder
from steinbox.surrogates.interpolant import Interpolant

TARGET_ACCEPTANCE = 0.574  # of Langevin moves in many dimensions (Roberts & Rosenthal, 1998)


@serializable("ais-state")
@dataclass(frozen=True, eq=False)
class AISState:
    """Weighted chains of the tempered target; ``half`` is the one that moves next."""

    points: Array
    log_prob: Array
    score: Array
    log_weights: Array
    proposed: Array
    half: int
    temperature: float
    log_step: float
    sweep: int
    num_iterations: int

    @property
    def iteration(self) -> int:
        """How many sweeps, the start among them, are done."""
        return self.sweep + (self.temperature > 0)

    @property
    def moving(self) -> slice:
        """The chains that move next."""
        return slice(self.half, None, 2)

    @property
    def resting(self) -> slice:
        """The chains that stay, and inform the move."""
        return slice(1 - self.half, None, 2)


@dataclass(frozen=True, kw_only=True)
class _AnnealedImportance(AnnealedFixedLength[AISState]):
    schedule: Schedule = field(default_factory=lambda: Schedule(fraction=1.0, power=2.0))
    coordinates: Coordinates = field(default_factory=Whitened)
    step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_component("coordinates", self.coordinates, "fit", "coordinates.Whitened()")
        if self.step is not None and not (is_number(self.step) and self.step > 0):
            raise ValueError(f"annealed importance sampling expects a positive step or None, got {self.step!r}")

    def _plan(self, problem: Problem, drift: Drift) -> AnnealedImportanceSampler:
        if problem.num_particles < 8:
            raise ValueError(f"annealed importance sampling expects at least 8 chains, got {problem.num_particles}")
        num_iterations = self.count_iterations(problem)
        return AnnealedImportanceSampler(
            self.path_base(problem), self.schedule, drift, num_iterations, self.coordinates, self.step
        )


@dataclass(frozen=True, kw_only=True)
class AIS(_AnnealedImportance):
    r"""Annealed importance sampling (Neal, 2001) with Metropolis-adjusted Langevin moves by the target's score.

    The path is :math:`p_0^{1-\alpha} p^{\alpha}`; chain i ends with the weight
    :math:`\prod_t (p / p_0)(x_i^{(t)})^{\alpha_{t+1} - \alpha_t}`. The chains move in two halves; each takes its
    coordinates from the other at rest.

    Parameters
    ----------
    num_iterations : int, optional
        Temperatures. If not given, as many as the budget allows.
    schedule : Schedule
    base : distribution, optional
        The p0 of the path; the initial distribution if not given.
    coordinates : Coordinates
        In which a step is isotropic: fitted to the half at rest, or ``coordinates.Plain()``.
    step : float, optional
        The standard deviation of a move's noise. If not given, it is learned from how many moves are accepted.

    Notes
    -----
    ``result.trace`` has, after each move of one half, its ``temperature`` and mean probability of ``acceptance``, and
    of all chains the ``effective_sample_size`` and the estimate of :math:`\log \int p / \int p_0` (``log_evidence``).

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0.0, 0.0], std=2.0), score=target.score, vectorized=True,
    ...                    method=sb.baselines.AIS(), num_particles=100, max_evals=5_000, seed=0)
    >>> bool(abs(result.trace["log_evidence"][-1]) < 0.5)
    True
    """

    @property
    def needs_score(self) -> bool:
        return True

    def plan(self, problem: Problem) -> AnnealedImportanceSampler:
        return self._plan(problem, TargetDrift(self.path_base(problem)))


@dataclass(frozen=True, kw_only=True)
class GFAIS(_AnnealedImportance):
    r"""Gradient-free annealed importance sampling, the comparison of Han & Liu (2018), Section 5.2.

    As :class:`AIS`, but the Langevin moves of one half of the chains follow the score of a surrogate built from the
    values at the other half, so that the move leaves the tempered target exactly invariant whatever the surrogate is.

    Parameters
    ----------
    surrogate : Surrogate or Builder
        The interpolant if not given; ``surrogates.KernelCurve()`` is the paper's.
    num_iterations, schedule, base, coordinates, step
        As for :class:`AIS`.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> result = sb.sample(lambda x: -0.5 * np.sum((x - 2) ** 2), sb.Gaussian([0.0, 0.0], std=3.0), num_particles=100,
    ...                    method=sb.baselines.GFAIS(num_iterations=50), seed=0)
    >>> bool(abs(result.trace["log_evidence"][-1] - np.log(2 * np.pi)) < 0.5)
    True
    """

    surrogate: Surrogate | Builder = field(
        default_factory=lambda: Interpolant(num_history=0, quadratic_variances=(0.0,))
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        as_builder(self.surrogate)

    def plan(self, problem: Problem) -> AnnealedImportanceSampler:
        return self._plan(problem, SurrogateDrift(self.path_base(problem), as_builder(self.surrogate)))


class Drift(Protocol):
    """The gradient that guides the moves."""

    def __call__(self, state: AISState, points: Array, score: Array) -> Array:
        """At these points, which have this score of the target if it is known."""
        ...


@dataclass(frozen=True)
class AnnealedImportanceSampler(CountingSampler[AISState]):
    """Annealed importance sampling with its path, and with what guides the moves."""

    base: Initial
    schedule: Schedule
    drift: Drift
    num_iterations: int
    coordinates: Coordinates
    step: float | None

    @property
    def tolerates_empty_batch(self) -> bool:
        """Chains whose proposals all lie outside the support stay where they are."""
        return True

    def start(self, problem: Problem, rng: np.random.Generator) -> AISState:
        """The chains before they are evaluated."""
        particles, num_chains = problem.particles, problem.num_particles
        return AISState(
            points=particles,
            log_prob=np.full(num_chains, -np.inf),
            score=np.zeros_like(particles),
            log_weights=np.zeros(num_chains),
            proposed=particles,
            half=0,
            temperature=0.0,
            log_step=0.0 if self.step is None else float(np.log(self.step / _first_step(particles.shape[1]))),
            sweep=0,
            num_iterations=self.num_iterations,
        )

    def ask(self, state: AISState, rng: np.random.Generator) -> Array:
        """All chains at the start, then proposed moves of one half at a time."""
        return state.proposed

    def tell(
        self, state: AISState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[AISState, Info]:
        """Accept or reject; after both halves have moved, weight them and go on to the next temperature."""
        score = np.zeros_like(points) if evaluation.score is None else evaluation.score
        if state.temperature == 0:
            state, acceptance = replace(state, log_prob=evaluation.log_prob, score=score), 1.0
            state = self._heat(state)
        else:
            state, acceptance = self._move(state, points, evaluation.log_prob, score, rng)
            state = replace(state, half=1 - state.half, sweep=state.sweep + state.half)
            if state.half == 0 and state.sweep < state.num_iterations:
                state = self._heat(state)
        state = replace(state, proposed=self._propose(state, rng))
        weights = normalize(state.log_weights)
        info = {
            "temperature": state.temperature,
            "acceptance": acceptance,
            "effective_sample_size": effective_sample_size(weights),
            "log_evidence": _log_evidence(state),
        }
        return state, info

    def _heat(self, state: AISState) -> AISState:
        """The next temperature: weights times :math:`(p / p_0)` to the power of the step."""
        temperature = self.schedule(state.sweep, state.num_iterations)
        log_ratio = state.log_prob - self.base.log_prob(state.points)
        log_weights = state.log_weights + (temperature - state.temperature) * log_ratio
        return replace(state, temperature=temperature, log_weights=log_weights)

    def _move(
        self, state: AISState, points: Array, log_prob: Array, score: Array, rng: np.random.Generator
    ) -> tuple[AISState, float]:
        moving, coordinates = state.moving, self._coordinates(state)
        current = state.points[moving]
        forward = self._mean(state, current, state.score[moving], coordinates)
        backward = self._mean(state, points, score, coordinates)
        z, z_proposed = coordinates.forward(current), coordinates.forward(points)
        variance = np.exp(2 * state.log_step) * _first_step(points.shape[1]) ** 2
        correction = (((z_proposed - forward) ** 2).sum(axis=1) - ((z - backward) ** 2).sum(axis=1)) / (2 * variance)
        here = self._log_path(current, state.log_prob[moving], state.temperature)
        there = self._log_path(points, log_prob, state.temperature)
        probability = acceptance_probability(here, there, correction)
        accepted = rng.random(len(points)) < probability
        log_step = state.log_step
        if self.step is None:
            log_step = robbins_monro(log_step, float(probability.mean()), TARGET_ACCEPTANCE, 1 + state.sweep)
        moved = replace(
            state,
            points=_with(state.points, moving, np.where(accepted[:, None], points, current)),
            log_prob=_with(state.log_prob, moving, np.where(accepted, log_prob, state.log_prob[moving])),
            score=_with(state.score, moving, np.where(accepted[:, None], score, state.score[moving])),
            log_step=log_step,
        )
        return moved, float(probability.mean())

    def _propose(self, state: AISState, rng: np.random.Generator) -> Array:
        coordinates = self._coordinates(state)
        current = state.points[state.moving]
        mean = self._mean(state, current, state.score[state.moving], coordinates)
        step = np.exp(state.log_step) * _first_step(current.shape[1])
        target = mean + step * rng.standard_normal(current.shape)
        return coordinates.displace(current, target - coordinates.forward(current))

    def _mean(self, state: AISState, points: Array, score: Array, coordinates: Affine) -> Array:
        """Where the Langevin step leads on average, in the coordinates of the resting half."""
        step = np.exp(state.log_step) * _first_step(points.shape[1])
        gradient = coordinates.push_score(self.drift(state, points, score))
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        bounded = gradient * np.minimum(1.0, 2 * np.sqrt(points.shape[1]) / np.maximum(length, 1e-300))
        return np.asarray(coordinates.forward(points) + 0.5 * step**2 * bounded)

    def _coordinates(self, state: AISState) -> Affine:
        return self.coordinates.fit(state.points[state.resting])

    def _log_path(self, points: Array, log_prob: Array, temperature: float) -> Array:
        return interpolate(self.base.log_prob(points), log_prob, temperature)

    def sample(self, state: AISState) -> Sample:
        """The chains and their weights."""
        return Sample(
            state.points,
            normalize(state.log_weights),
            state.log_prob,
            log_evidence=_log_evidence(state),
            warnings=path_warnings(state.temperature),
        )


@dataclass(frozen=True)
class TargetDrift:
    """The score of the annealed target."""

    base: Initial

    def __call__(self, state: AISState, points: Array, score: Array) -> Array:
        return interpolate(self.base.score(points), score, state.temperature)


@dataclass(frozen=True)
class SurrogateDrift:
    """The score of a surrogate built from the annealed values at the chains that rest."""

    base: Initial
    builder: Builder

    def __call__(self, state: AISState, points: Array, score: Array) -> Array:
        others, log_prob = state.points[state.resting], state.log_prob[state.resting]
        log_path = interpolate(self.base.log_prob(others), log_prob, state.temperature)
        known = np.isfinite(log_path)
        if known.sum() < 3:
            raise StalledError(f"{known.sum()} of {len(known)} chains that inform the others are inside the support")
        surrogate = self.builder.build(others[known], log_path[known], int(known.sum()))
        return np.asarray(surrogate.score(points))


def _first_step(dimension: int) -> float:
    """The step of Langevin moves that is right for a normal target, up to a factor that is learned."""
    return float(dimension ** (-1 / 6))


def _with(values: Array, places: slice, new: Array) -> Array:
    changed = values.copy()
    changed[places] = new
    return changed


def _log_evidence(state: AISState) -> float:
    return float(logsumexp(state.log_weights) - np.log(len(state.log_weights)))
