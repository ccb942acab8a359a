r"""The flow that all four Stein samplers are: particles that move along the Stein direction.

.. code-block:: text

   values ─ anneal ─► surrogate ─► log-weights ─► kernel sums ─► direction ─► optimizer ─► particles
                          └───────────── several moves by one interpolant ────────────┘

What differs is composed: a :mod:`path <steinbox.samplers.annealing>` says which target a move aims at, a :mod:`drive
<steinbox.samplers.stein.drive>` turns its values into scores and weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from steinbox.common.arrays import Array, IntegerArray, Mask
from steinbox.common.checks import require_component
from steinbox.common.serialization import serializable
from steinbox.evaluation import Evaluation
from steinbox.maps.coordinates import Affine, Coordinates, Whitened
from steinbox.numerics.bandwidth import Median, Rule, as_rule
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.optimizers import Adam, CosineDecay, Optimizer, OptimizerState
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.samplers.annealing import Path, interpolate, path_warnings, retemper
from steinbox.samplers.base import Info, Problem, Sample
from steinbox.samplers.fixed_length import CountingSampler, FixedLength
from steinbox.samplers.stein.direction import Approximation, Direction, stein_direction
from steinbox.samplers.stein.drive import AnnealedValues, Drive, nearest_rows, require_two
from steinbox.samplers.stein.force import Force, choose_num_moves, find_direction
from steinbox.samplers.stein.rescue import bring_back, is_hopeless, sort_out
from steinbox.samplers.stein.warnings import collect_warnings, missed_share

MAX_FAILURES_IN_ROW = 2  # one failure says nothing about where a particle is, two do


@serializable("stein-state")
@dataclass(frozen=True, eq=False)
class SteinState:
    """Particles, what is known at them and elsewhere, and where they go next.

    ``weights`` and ``score`` are those of the last move; none before the first. ``predicted`` is what a lasting
    surrogate says of the next particles, at this temperature; ``num_moves`` are made by the next surrogate, and
    ``misprediction`` is the largest share of the variance of log p that such predictions missed at the target itself.
    """

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
    weights: Array | None = None
    score: Array | None = None
    predicted: Array | None = None
    num_moves: int = 1
    misprediction: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SteinMethod(FixedLength[SteinState]):
    """The settings that all Stein samplers have; a subclass says what drives the particles, and along which path.

    Parameters
    ----------
    num_iterations : int, optional
        Number of moves; an interpolant may split each into several. If not given, as many as the budget allows.
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
    direction : function
        What finds the direction: exact sums, or :class:`~steinbox.RandomFeatures` for very many particles.

    Notes
    -----
    ``result.trace`` has, for each move, its ``temperature``, the kernel's ``bandwidth``, the ``effective_sample_size``
    of the weights, the optimizer's ``step_size``, and the root mean square step (``movement``). With an interpolant
    there are also the ``num_moves`` made by it, and the share of the variance of log p that the one before missed
    (``misprediction``).
    """

    bandwidth: float | str | Rule = field(default_factory=Median)
    optimizer: Optimizer = field(default_factory=lambda: Adam(0.2, memory=0.99, decay=CosineDecay(start=0.5)))
    coordinates: Coordinates = field(default_factory=Whitened)
    kernel: Kernel = field(default_factory=RBF)
    tolerance: float = 0.0
    rescue: bool = True
    direction: Direction = stein_direction

    def __post_init__(self) -> None:
        super().__post_init__()
        as_rule(self.bandwidth)
        require_component("kernel", self.kernel, "value", "RBF()")
        require_component("optimizer", self.optimizer, "step", "Adam(0.2)")
        require_component("coordinates", self.coordinates, "fit", "Whitened()")
        require_component("direction", self.direction, "__call__", "RandomFeatures()")
        if not self.tolerance >= 0:
            raise ValueError(f"expected a tolerance of at least 0, got {self.tolerance}")

    def compose(self, problem: Problem, drive: Drive, path: Path) -> SteinFlow:
        """The sampler that this drive moves along this path."""
        _require_distinct(problem.particles)
        return SteinFlow(self, drive, path, self.count_iterations(problem))


def _require_distinct(particles: Array) -> None:
    """Refuse particles of which two are the same point."""
    _, first, counts = np.unique(particles, axis=0, return_index=True, return_counts=True)
    if (counts > 1).any():
        rows = np.flatnonzero((particles == particles[first[counts > 1][0]]).all(axis=1))
        raise ValueError(
            f"expected particles that differ; rows {', '.join(map(str, rows[:5]))} of `initial` are the same point, "
            "and the Stein force would move them together forever. Add a little noise, or give a distribution."
        )


@dataclass(frozen=True)
class SteinFlow(CountingSampler[SteinState]):
    """Particles, moved by a drive along a path."""

    settings: SteinMethod
    drive: Drive
    path: Path
    num_iterations: int

    @property
    def moves_particles(self) -> bool:
        """They flow, but for stragglers that are rescued."""
        return True

    def start(self, problem: Problem, rng: np.random.Generator) -> SteinState:
        """The particles before the first evaluation."""
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
            optimizer=self.settings.optimizer.start(particles.shape),
            temperature=0.0,
            iteration=0,
            num_iterations=self.num_iterations,
            movement=np.inf,
        )

    def warm_start(self, state: SteinState, points: Array, log_prob: Array) -> SteinState:
        """Values from earlier runs train the surrogate, if there is one, wherever the particles come near them."""
        if not self.drive.learns_from_values:
            name = type(self.settings).__name__
            raise ValueError(f"{name} builds no surrogate and has no use for archive=; leave it out")
        return replace(state, known=points, known_log_prob=log_prob)

    def ask(self, state: SteinState, rng: np.random.Generator) -> Array:
        """The particles themselves."""
        return state.next_particles

    def tell(
        self, state: SteinState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[SteinState, Info]:
        """One move along the Stein direction, or several by one surrogate."""
        settings, progress = self.settings, self.progress(state)
        failures_in_row = np.where(evaluation.failed, state.failures_in_row + 1, 0)
        values, stray = self.anneal(state, points, evaluation, failures_in_row >= MAX_FAILURES_IN_ROW)
        temperature = values.temperature
        force = self.drive.force(values)
        require_two(np.isfinite(force.log_weights))
        weights = normalize(force.log_weights)
        coordinates = settings.coordinates.fit(points)
        z = coordinates.forward(points)
        bandwidth = as_rule(settings.bandwidth)(z)
        direction, flat_share = find_direction(
            settings.direction, force, weights, coordinates, z, settings.kernel, bandwidth
        )
        missed = 0.0
        if state.predicted is not None:
            aimed_at = retemper(values.log_target_at_particles, evaluation.log_prob, temperature, state.temperature)
            missed = missed_share(state.predicted, aimed_at)
        num_moves = choose_num_moves(state.num_moves, missed, force.lasting)
        step, optimizer = self.move(
            force, weights, coordinates, points, direction, state.optimizer, progress, num_moves
        )
        movement = float(np.sqrt(np.mean(step**2)))
        info = {
            "temperature": temperature,
            "bandwidth": bandwidth,
            "effective_sample_size": effective_sample_size(weights),
            "step_size": settings.optimizer.step_size(progress),
            "movement": movement,
        }
        if force.flat is not None:
            info["flat_share"] = flat_share
        next_particles = bring_back(points, coordinates.displace(points, step), stray)
        predicted = None
        if force.lasting:
            predicted = np.where(stray, np.nan, force.lasting.surrogate.log_prob(next_particles))
            info |= {"misprediction": missed, "num_moves": num_moves}
        num_kept, worked = self.drive.num_history * len(points), ~values.failed[: len(points)]
        new_state = replace(
            state,
            particles=points,
            log_prob=evaluation.log_prob,
            next_particles=next_particles,
            history=np.concatenate([points[worked], state.history])[:num_kept],
            history_log_prob=np.concatenate([evaluation.log_prob[worked], state.history_log_prob])[:num_kept],
            failures_in_row=failures_in_row,
            optimizer=optimizer,
            temperature=temperature,
            iteration=state.iteration + 1,
            movement=movement,
            weights=weights,
            score=force.score,
            predicted=predicted,
            num_moves=num_moves,
            misprediction=max(state.misprediction, missed if state.temperature == 1.0 else 0.0),
        )
        return new_state, info

    def move(
        self,
        force: Force,
        weights: Array,
        coordinates: Affine,
        points: Array,
        direction: Array,
        optimizer: OptimizerState,
        progress: float,
        num_moves: int,
    ) -> tuple[Array, OptimizerState]:
        """The step along this direction, and along those that follow by a lasting surrogate, in these coordinates."""
        settings, total = self.settings, np.zeros_like(points)
        for move in range(num_moves):
            if force.lasting and move > 0:
                here = coordinates.displace(points, total)
                z, score = coordinates.forward(here), coordinates.push_score(force.lasting.surrogate.score(here))
                direction = settings.direction(z, score, weights, settings.kernel, as_rule(settings.bandwidth)(z))
            step, optimizer = settings.optimizer.step(direction, optimizer, progress)
            total = total + np.where(np.isfinite(step), step, 0.0) / np.sqrt(num_moves)
        return total, optimizer

    def anneal(
        self, state: SteinState, points: Array, evaluation: Evaluation, given_up: Mask
    ) -> tuple[AnnealedValues, Mask]:
        """What is known of the target of this move, at the particles and elsewhere; and which are strays."""
        near = nearest_rows(state.known, points)
        all_points = np.concatenate([points, state.history, state.known[near]])
        log_prob = np.concatenate([evaluation.log_prob, state.history_log_prob, state.known_log_prob[near]])
        log_base = self.path.log_base(all_points)
        with np.errstate(invalid="ignore"):
            log_ratio = log_prob[: len(points)] - log_base[: len(points)]
        temperature = self.path.temperature(state.temperature, state.iteration, state.num_iterations, log_ratio)
        log_target = interpolate(log_base, log_prob, temperature)
        hopeless = is_hopeless(log_target[: len(points)]) & self.settings.rescue
        failed, stray = sort_out(evaluation, hopeless, given_up)
        elsewhere = np.full(len(all_points) - len(points), False)
        score, repulsion = self.path.score(points, evaluation.score, temperature)
        return AnnealedValues(
            points=all_points,
            log_target=np.where(np.concatenate([hopeless, elsewhere]), -np.inf, log_target),
            failed=np.concatenate([failed, elsewhere]),
            num_particles=len(points),
            temperature=temperature,
            score=score,
            repulsion=repulsion,
        ), stray

    def approximation_error(self, particles: Array, weights: Array, score: Array) -> float:
        """How far the direction of the last move was off, if it is not exact."""
        rule, settings = self.settings.direction, self.settings
        if not isinstance(rule, Approximation):
            return 0.0
        coordinates = settings.coordinates.fit(particles)
        z, score = coordinates.forward(particles), coordinates.push_score(score)
        return rule.relative_error(z, score, weights, settings.kernel, as_rule(settings.bandwidth)(z))

    def is_converged(self, state: SteinState) -> bool:
        """Whether the particles stand still at the target itself."""
        return state.temperature == 1.0 and state.movement < self.settings.tolerance

    def sample(self, state: SteinState) -> Sample:
        """The last evaluated particles, equally weighted inside the support and without weight outside."""
        warnings = path_warnings(state.temperature)
        if not warnings and state.weights is not None and state.score is not None:  # on the path, another target's
            forces = state.weights, state.score, state.misprediction
            error = self.approximation_error(state.particles, state.weights, state.score)
            warnings = tuple(collect_warnings(state.particles, state.log_prob, *forces, error))
        sample = Sample.equally_weighted(state.particles, state.log_prob, warnings)
        if state.weights is None or state.score is None:
            return sample
        step = state.next_particles - state.particles
        return replace(sample, forces={"importance_weights": state.weights, "score": state.score, "step": step})
