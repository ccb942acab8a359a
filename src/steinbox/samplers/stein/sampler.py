r"""What the four Stein samplers share: particles that flow along the Stein direction.

.. code-block:: text

   values ─ anneal ─► surrogate ─► log-weights ─► kernel sums ─► direction ─► optimiser ─► particles

A subclass says only what drives the particles: the target's own score, or a surrogate's with weights.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from steinbox.common.arrays import Array, IntegerArray, Mask
from steinbox.common.checks import require_component
from steinbox.common.serialization import serializable
from steinbox.evaluation import Evaluation
from steinbox.maps.coordinates import Coordinates, Whitened
from steinbox.numerics.bandwidth import Median, Rule, as_rule
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.optimizers import Adam, CosineDecay, Optimizer, OptimizerState
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.samplers.annealing import path_warnings
from steinbox.samplers.base import Info, Problem, Sample, StalledError
from steinbox.samplers.fixed_length import CountingSampler, FixedLength
from steinbox.samplers.stein.direction import stein_direction

_MOST_FAILURES_IN_ROW = 2  # one failure says nothing about where a particle is, two do


@serializable("stein-state")
@dataclass(frozen=True, eq=False)
class SteinState:
    """Particles, what is known at them and elsewhere, and where they go next."""

    particles: Array
    log_prob: Array
    next_particles: Array
    history: Array
    history_log_prob: Array
    known: Array
    known_log_prob: Array
    failures_in_row: IntegerArray
    optimizer: OptimizerState
    temperature: float
    iteration: int
    num_iterations: int
    movement: float


@dataclass(frozen=True, eq=False)
class Force:
    """What drives the particles: scores, log-weights and the factor of the repulsion."""

    score: Array
    log_weights: Array
    repulsion: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SteinSampler(FixedLength[SteinState], CountingSampler[SteinState]):
    """The knobs that all four have; see the subclasses.

    Parameters
    ----------
    num_iterations : int, optional
        Number of moves. If not given, as many as the budget allows.
    bandwidth : float, str or function
        The rule for the kernel's h, see :mod:`steinbox.numerics.bandwidth`.
    optimizer : Optimizer
        See :mod:`steinbox.numerics.optimizers`. Its learning rate is in units of ``coordinates``.
    coordinates : Coordinates
        Where kernel and steps live, see :mod:`steinbox.maps.coordinates`.
    kernel : Kernel
    tolerance : float
        Stop when the root mean square step, in units of ``coordinates`` and at full temperature, falls below it.
    rescue : bool
        Whether stragglers in the far tail are brought in (docs/conventions.md); the paper's algorithms leave them.
    """

    bandwidth: float | str | Rule = field(default_factory=Median)
    optimizer: Optimizer = field(default_factory=lambda: Adam(0.2, memory=0.99, decay=CosineDecay(start=0.5)))
    coordinates: Coordinates = field(default_factory=Whitened)
    kernel: Kernel = field(default_factory=RBF)
    tolerance: float = 0.0
    rescue: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        as_rule(self.bandwidth)
        require_component("kernel", self.kernel, "value", "RBF()")
        require_component("optimizer", self.optimizer, "step", "Adam(0.2)")
        require_component("coordinates", self.coordinates, "fit", "Whitened()")
        if not self.tolerance >= 0:
            raise ValueError(f"expected a tolerance of at least 0, got {self.tolerance}")

    # -- what a subclass says ------------------------------------------------------------------------------------------

    @property
    def num_history(self) -> int:
        """How many past iterations the force looks at."""
        return 0

    def temperature(self, state: SteinState) -> float:
        r"""The :math:`\alpha_{t+1}` of this iteration; one without annealing."""
        return 1.0

    def log_target(self, points: Array, log_prob: Array, temperature: float) -> Array:
        """The log-density that this iteration aims at, from the target's values at the points."""
        return log_prob

    @abstractmethod
    def force(self, state: SteinState, points: Array, evaluation: Evaluation, temperature: float) -> Force:
        """What drives the particles at this iteration."""

    # -- ask, tell -----------------------------------------------------------------------------------------------------

    def plan(self, problem: Problem) -> Self:
        """The same sampler with its open settings filled in from the problem."""
        return self

    def start(self, problem: Problem, rng: np.random.Generator) -> SteinState:
        """The particles before the first evaluation, and how many moves the budget allows."""
        particles, num_particles, dimension = problem.particles, problem.num_particles, problem.dimension
        return SteinState(
            particles=particles,
            log_prob=np.full(num_particles, -np.inf),
            next_particles=particles,
            history=np.empty((0, dimension)),
            history_log_prob=np.empty(0),
            known=np.empty((0, dimension)),
            known_log_prob=np.empty(0),
            failures_in_row=np.zeros(num_particles, dtype=np.int64),
            optimizer=self.optimizer.start(particles.shape),
            temperature=0.0,
            iteration=0,
            num_iterations=self.count_iterations(problem),
            movement=np.inf,
        )

    def ask(self, state: SteinState, rng: np.random.Generator) -> Array:
        """The particles themselves."""
        return state.next_particles

    def tell(
        self, state: SteinState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[SteinState, Info]:
        """One move along the Stein direction."""
        progress = self.progress(state)
        temperature = self.temperature(state)
        failures_in_row = np.where(evaluation.failed, state.failures_in_row + 1, 0)
        log_target = self.log_target(points, evaluation.log_prob, temperature)
        hopeless = _is_hopeless(log_target) & self.rescue
        usable, stray = _sort_out(evaluation, hopeless, failures_in_row >= _MOST_FAILURES_IN_ROW)
        force = self.force(state, points, usable, temperature)
        require_two(np.isfinite(force.log_weights))
        weights = normalize(force.log_weights)
        coordinates = self.coordinates.fit(points)
        z = coordinates.forward(points)
        bandwidth = as_rule(self.bandwidth)(z)
        score = coordinates.push_score(force.score)
        direction = stein_direction(z, score, weights, self.kernel, bandwidth, force.repulsion)
        step, optimizer = self.optimizer.step(direction, state.optimizer, progress)
        movement = float(np.sqrt(np.mean(step**2)))
        info = {
            "temperature": temperature,
            "bandwidth": bandwidth,
            "effective_sample_size": effective_sample_size(weights),
            "step_size": self.optimizer.step_size(progress),
            "movement": movement,
        }
        kept, worked = self.num_history * len(points), ~usable.failed
        new_state = replace(
            state,
            particles=points,
            log_prob=evaluation.log_prob,
            next_particles=_brought_back(points, coordinates.displace(points, step), stray),
            history=np.concatenate([points[worked], state.history])[:kept],
            history_log_prob=np.concatenate([usable.log_prob[worked], state.history_log_prob])[:kept],
            failures_in_row=failures_in_row,
            optimizer=optimizer,
            temperature=temperature,
            iteration=state.iteration + 1,
            movement=movement,
        )
        return new_state, info

    def is_converged(self, state: SteinState) -> bool:
        """Whether the particles stand still at the target itself."""
        return state.temperature == 1.0 and state.movement < self.tolerance

    def sample(self, state: SteinState) -> Sample:
        """The last evaluated particles, equally weighted inside the support and without weight outside."""
        return Sample.equally_weighted(state.particles, state.log_prob, path_warnings(state.temperature))


def _sort_out(evaluation: Evaluation, hopeless: Mask, given_up: Mask) -> tuple[Evaluation, Mask]:
    """What of the evaluation the force may use, and which particles to bring back.

    Outside the support: no force, brought back, and taught to the surrogate as a wall. Failed: no force, not taught,
    goes on with the others; given up after failing again: as outside. Hopeless: no force, not taught, brought back.
    """
    failed = evaluation.failed & ~given_up
    log_prob = np.where(hopeless, -np.inf, evaluation.log_prob)
    return replace(evaluation, log_prob=log_prob, failed=failed | hopeless), ~np.isfinite(log_prob) & ~failed


def _is_hopeless(log_target: Array) -> Mask:
    r"""Values below :math:`q_{50} - 6 (q_{75} - q_{50}) - 5` of all particles.

    Draws from a target hardly ever fall there. A straggler in the far tail would be left behind as the others contract,
    and a penalty such as −1e10 in place of −inf would spoil the surrogate.
    """
    inside = np.isfinite(log_target)
    if not inside.any():
        return inside
    median, upper = np.quantile(log_target[inside], [0.5, 0.75])
    return np.asarray(inside & (log_target < median - 6 * (upper - median) - 5))


def require_two(usable: Mask) -> None:
    """Stop where fewer than two particles can push: one alone has no spread, and nobody to be pushed by."""
    if usable.sum() < 2:
        raise StalledError(
            f"{usable.sum()} of {len(usable)} particles have a finite log-density and weight; at least 2 are needed. "
            "Choose an `initial` that overlaps the target more."
        )


def _brought_back(points: Array, next_points: Array, stray: Mask) -> Array:
    """Where the particles go: strays half-way to the nearest other one, the rest along; no step that overflows."""
    kept = np.where(np.isfinite(next_points), next_points, points)
    if stray.any() and not stray.all():
        nearest = points[~stray][squared_distances(points[stray], points[~stray]).argmin(axis=1)]
        kept[stray] = (points[stray] + nearest) / 2
    return kept
