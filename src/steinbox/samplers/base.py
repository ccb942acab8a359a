"""What a sampler is: pure functions of its state, which never see the user's function.

.. code-block:: text

   method ─ plan(problem) ─► sampler ─ start ─► state ─ ask ─► points ─ evaluate ─ tell ─► state … ─ sample ─► particles

A :class:`Method` is what ``method=`` of :func:`steinbox.sample` takes: settings, some of which may be left open. Its
``plan`` fills these in from the :class:`Problem` and returns a :class:`Sampler`. A sampler that leaves nothing open is
its own plan, so that most need only the four functions ``start``, ``ask``, ``tell`` and ``sample``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.noise import Noise
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation
from steinbox.numerics.weights import effective_sample_size

State = TypeVar("State")
"""A frozen dataclass of arrays, numbers, text, tuples and such dataclasses, so that a checkpoint can hold it."""

Info: TypeAlias = Mapping[str, float | str]
"""What a person wants to see of one iteration, under the same keys every time; the loop collects it into the trace."""


class StalledError(RuntimeError):
    """A sampler cannot go on from what was evaluated; what it had before is still good."""


# -- what goes in, what comes out --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """What a sampler may know before the first evaluation. All parameters are free: bounds are behind a map.

    Attributes
    ----------
    initial : Initial
        Where to start: a normalized density with draws and a score.
    particles : (n, d) array
        Drawn from it, or the user's own.
    max_evals : int
        The budget of evaluations.
    noise : float or bool
        Whether log-densities are estimates: their standard deviation, or True if it is not known.
    is_unbiased : bool
        Whether it is the density that is estimated without bias, not its logarithm; see :class:`~steinbox.Noise`.
    """

    initial: Initial
    particles: Array
    max_evals: int
    noise: float | bool = False
    is_unbiased: bool = False

    @property
    def assumed_noise(self) -> Noise | None:
        """What the noise is assumed to be; None if there is none."""
        return Noise(None if self.noise is True else self.noise, self.is_unbiased) if self.noise else None

    @property
    def num_particles(self) -> int:
        """The n of the particles."""
        return len(self.particles)

    @property
    def dimension(self) -> int:
        """The d of the particles."""
        return int(self.particles.shape[1])


@dataclass(frozen=True, eq=False)
class WeightedSample:
    """All weighted points, from which the particles were chosen; the weights sum to one.

    ``pareto_shape`` is that of the tail of the weights, ``mixture`` the last proposal.
    """

    points: Array
    weights: Array
    log_prob: Array
    pareto_shape: float = np.nan
    mixture: Initial | None = None

    @property
    def effective_sample_size(self) -> float:
        """How many independent draws they are worth."""
        return effective_sample_size(self.weights)


@dataclass(frozen=True)
class Coverage:
    r"""What scattered draws, and climbs, say of modes that were not seen.

    Every draw of the initial distribution is a place, and so is every draw from around the modes that were found, at
    all scales. If its log-density is explained by what is known, a climb from there would lead to what is known; if
    not, the place is open, and climbs begin at some of the open ones. A climb finds something if it ends at a mode that
    has mass, behind a valley, and was not known. With n places of which the share s is open, and m climbs since the
    last find, the expected share of places that lead to something new
    is (the rule of succession, for open and explained places)

    .. math:: \frac{s}{m + 2} + \frac{1 - s}{(1 - s)\, n + 2}.

    It is a statement about places, not about mass: a narrow mode in the tails of a wide one may have much mass and
    hardly a place that leads to it.

    Attributes
    ----------
    num_climbs : int
        Not counting the first, which arrives.
    num_finds : int
        Climbs that led to a mode not known before.
    num_since_last : int
        Climbs since the last of them, or all.
    num_places : int
        Scattered draws that were compared with what is known; 0 if weights were never even.
    num_open : int
        Those that it did not explain.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.separated_modes(2)
    >>> start = sb.Gaussian([0, 0], std=5)
    >>> result = sb.sample(target.log_prob, start, vectorized=True, num_particles=50, max_evals=1_000, seed=0)
    >>> result.coverage.upper < 0.2  # of the places, at most so many lead to a mode not seen
    True
    """

    num_climbs: int
    num_finds: int
    num_since_last: int
    num_places: int = 0
    num_open: int = 0

    @property
    def unseen(self) -> float:
        """The expected share of places that lead to modes not seen."""
        share, num_explained = self._open_share, self.num_places - self.num_open
        return share / (self.num_since_last + 2) + (1 - share) / (num_explained + 2)

    @property
    def upper(self) -> float:
        r"""A bound on that share, right 19 times in 20: :math:`1 - 0.025^{1/m}`, for open and explained places."""
        share, num_explained = self._open_share, self.num_places - self.num_open
        return share * _bound(self.num_since_last) + (1 - share) * _bound(num_explained)

    @property
    def _open_share(self) -> float:
        return self.num_open / self.num_places if self.num_places else 1.0


def _bound(number: int) -> float:
    """On the chance of what has not happened so many times, right 39 times in 40."""
    return float(1 - 0.025 ** (1 / number)) if number > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Sample:
    """A sampler's answer so far: points that were evaluated, their weights, which sum to one, and log-densities.

    If they were chosen from a larger weighted pool, that comes with them. ``log_evidence`` is the logarithm of the
    density's integral, if the sampler estimates it; ``coverage`` what it knows of modes not seen; ``warnings`` are
    reasons not to trust the particles, each a sentence; ``forces`` what moves them, by name, for ``record=``.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> sb.Sample.equally_weighted(np.zeros((4, 2)), np.zeros(4)).weights
    array([0.25, 0.25, 0.25, 0.25])
    """

    particles: Array
    weights: Array
    log_prob: Array
    pool: WeightedSample | None = None
    log_evidence: float = np.nan
    log_evidence_error: float = np.nan
    warnings: tuple[str, ...] = ()
    coverage: Coverage | None = None
    forces: Mapping[str, Array] = field(default_factory=dict)

    @property
    def mean_log_prob(self) -> float:
        """The mean log-density of the particles inside the support."""
        return float(self.weights @ np.where(self.weights > 0, self.log_prob, 0.0))

    @classmethod
    def equally_weighted(cls, particles: Array, log_prob: Array, warnings: tuple[str, ...] = ()) -> Sample:
        """Particles of equal weight inside the support, and of none outside."""
        inside = np.isfinite(log_prob)
        return cls(particles, inside / max(1, inside.sum()), log_prob, warnings=warnings)


# -- the protocol ------------------------------------------------------------------------------------------------------


class Method(ABC, Generic[State]):
    """Settings of a sampler, some of which may wait for the problem."""

    @property
    def needs_score(self) -> bool:
        """Whether the evaluations must bring the target's score."""
        return False

    def evals_needed(self, num_particles: int) -> int | None:
        """Evaluations a whole run takes, if the settings determine it; otherwise ``max_evals`` does."""
        return None

    @abstractmethod
    def plan(self, problem: Problem) -> Sampler[State]:
        """The sampler for this problem, with every open setting filled in.

        Raises ValueError if the budget allows no iteration: nothing has been evaluated yet.
        """


class Sampler(Method[State]):
    """Ask, evaluate, tell. Subclass it to write your own; only ``start``, ``ask``, ``tell`` and ``sample`` are needed.

    A sampler is immutable; the state holds all that the next step needs, and all randomness comes from ``rng``. That is
    why a run can be repeated, interrupted and resumed bit for bit.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import steinbox as sb
    >>> @dataclass(frozen=True, eq=False)
    ... class Climbers:
    ...     points: np.ndarray
    ...     log_prob: np.ndarray
    >>> class HillClimbing(sb.Sampler[Climbers]):
    ...     def start(self, problem, rng):
    ...         return Climbers(problem.particles, np.full(problem.num_particles, -np.inf))
    ...     def ask(self, state, rng):
    ...         return state.points + 0.1 * rng.standard_normal(state.points.shape)
    ...     def tell(self, state, points, evaluation, rng):
    ...         better = evaluation.log_prob > state.log_prob
    ...         climbed = np.where(better[:, None], points, state.points)
    ...         return Climbers(climbed, np.maximum(evaluation.log_prob, state.log_prob)), {"climbed": better.mean()}
    ...     def sample(self, state):
    ...         return sb.Sample.equally_weighted(state.points, state.log_prob)
    >>> result = sb.sample(lambda x: -np.sum((x - 3) ** 2), sb.Gaussian([0, 0], std=1), method=HillClimbing(),
    ...                    num_particles=20, max_evals=4_000, seed=0)
    >>> result.mean.round(1), result.trace["climbed"].shape
    (array([3., 3.]), (200,))
    """

    # -- what every sampler says ---------------------------------------------------------------------------------------

    @abstractmethod
    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        """The state before the first evaluation; raises ValueError if the budget allows no iteration."""

    @abstractmethod
    def ask(self, state: State, rng: np.random.Generator) -> Array:
        """Where to look next, (m, d); no points end the run."""

    @abstractmethod
    def tell(self, state: State, points: Array, evaluation: Evaluation, rng: np.random.Generator) -> tuple[State, Info]:
        """Learn from what was found there."""

    @abstractmethod
    def sample(self, state: State) -> Sample:
        """The answer so far."""

    # -- what some say -------------------------------------------------------------------------------------------------

    def plan(self, problem: Problem) -> Sampler[State]:
        """The sampler itself: nothing is open."""
        return self

    @property
    def tolerates_empty_batch(self) -> bool:
        """Whether it can go on after a batch that lies outside the support as a whole, or failed."""
        return False

    def explores(self, state: State) -> bool:
        """Whether the points that are asked for next look far away, where more may fail than at the target."""
        return False

    @property
    def moves_particles(self) -> bool:
        """Whether the i-th particle of one iteration is the i-th of the next, moved; then there are paths to draw."""
        return False

    def warm_start(self, state: State, points: Array, log_prob: Array) -> State:
        """The state with values from earlier runs; raises ValueError if the sampler has no use for them."""
        raise ValueError(f"{type(self).__name__} builds no surrogate and has no use for archive=; leave it out")

    def is_converged(self, state: State) -> bool:
        """Whether another step would change nothing."""
        return False

    def is_finished(self, state: State) -> bool:
        """Whether all planned iterations are done; without a plan, the run ends with the budget."""
        return False

    def mean_log_prob(self, state: State) -> float:
        """The mean log-density of the particles, after every iteration; to be overridden if ``sample`` is costly."""
        return self.sample(state).mean_log_prob

    def progress(self, state: State) -> float | None:
        """The part of the planned run that is done, 0 to 1; None if that is the part of the budget that is spent."""
        return None


@runtime_checkable
class Extendable(Protocol[State]):
    """What a sampler also has if its runs can go on with a larger budget, even from their end."""

    def extend(self, state: State, max_evals: int, rng: np.random.Generator) -> State:
        """The state, at whatever point of its run, with a larger budget."""
        ...
