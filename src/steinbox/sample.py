"""The front door: check the arguments, build the pieces, run the loop, return a Result."""

from __future__ import annotations

import importlib.metadata
import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steinbox.bounded import FreeInitial, Uniform, free_particles
from steinbox.checkpoint import Checkpoint
from steinbox.doubts import doubts
from steinbox.evaluate import Calls, Evaluator, as_workers
from steinbox.initial import Initial, as_initial, fit_initial, path_start
from steinbox.loop import Callback, Journey, run
from steinbox.progress import progress_bar
from steinbox.result import Result
from steinbox.resume import digest, keeper, open_journal, resumed, seed_for
from steinbox.samplers import AnnealedGFSVGD, Sampler
from steinbox.samplers.base import Draws
from steinbox.transforms import Bounds, Identity, Transform, as_bounds
from steinbox.types import Array

DEFAULT_PARTICLES = 200
DEFAULT_EVALS = 20_000


def sample(
    log_prob: Callable[..., Any],
    initial: object,
    *,
    num_particles: int | None = None,
    method: Sampler | None = None,
    max_evals: int | None = None,
    vectorized: bool = False,
    score: Callable[..., Any] | None = None,
    names: Sequence[str] | None = None,
    bounds: Sequence[object] | None = None,
    executor: object = None,
    timeout: float | None = None,
    retries: int = 0,
    max_failure_rate: float = 0.2,
    checkpoint: str | Path | Checkpoint | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> Result:
    """Draw particles from the distribution whose log-density is ``log_prob``, up to a constant.

    Parameters
    ----------
    log_prob : callable
        ``(d,) -> float``, or ``(n, d) -> (n,)`` with ``vectorized=True``. −inf means outside the support. A point at
        which it raises, or returns NaN or +inf, counts as failed; the run goes on without it. If it has a parameter
        ``rng``, it gets a generator for each evaluation (a list of them, one per point, with ``vectorized=True``), so
        that estimates by simulation are reproducible wherever they run.
    initial : Gaussian, scipy.stats distribution, list of univariate ones, (n, d) array, or None
        Where to start: a distribution, or the particles themselves (annealed methods then fit a Gaussian to them). It
        is cut off at the bounds; with None, and finite bounds, it is uniform between them.
    num_particles : int
        200 if not given; an array as ``initial`` sets it.
    method : SVGD, GFSVGD, AnnealedSVGD, AnnealedGFSVGD or one of :mod:`steinbox.baselines`
        ``AnnealedGFSVGD()`` if not given.
    max_evals : int
        The budget of evaluations. If not given: what the method's ``num_iterations`` needs, or 20,000 (ten rounds of
        all particles if that is more).
    vectorized : bool
        Whether ``log_prob`` (and ``score``) take all points at once.
    score : callable
        The gradient of ``log_prob``, for the methods that need it.
    names : sequence of str
        The parameters' names; ``x0, x1, …`` if not given.
    bounds : sequence of (low, high), Periodic or None
        One entry per parameter; None or ±inf for an open end. ``log_prob`` is never called on or beyond a bound.
    executor : int, executor or pool
        Where to evaluate: that many processes, a ``concurrent.futures`` executor, a ``dask.distributed`` Client, an
        ``mpi4py.futures`` or ``multiprocessing`` pool. The function travels to each worker once. Here if not given.
    timeout : float
        Seconds after which a call counts as failed, and the process it runs in is stopped. Needs ``executor``.
    retries : int
        How often a call that raises is made again before it counts as failed.
    max_failure_rate : float
        The run stops when a larger share of the last 200 evaluations failed.
    checkpoint : str, Path or Checkpoint
        A file that is written after every iteration. The same call again takes the run up from there, bit for bit.
    callback : callable
        Called with an :class:`steinbox.loop.Iteration` after every iteration; return True to stop.
    progress : bool
        Whether to show a progress bar. If not given: when the output is a terminal.
    seed : int
        Fixes all randomness. If not given, one is drawn and kept in the result, so that any run can be repeated.

    Returns
    -------
    Result
        Its ``status`` says why the run ended. Ctrl-C ends a run with a valid partial result.

    Examples
    --------
    >>> import steinbox as sb
    >>> def log_prob(x):
    ...     return -0.5 * (x[0] ** 2 + (x[1] - x[0]) ** 2)
    >>> result = sb.sample(log_prob, sb.Gaussian([0.0, 0.0], std=3.0), num_particles=50, max_evals=2_000, seed=0)
    >>> result.particles.shape, result.num_evals, str(result.status)
    ((50, 2), 2000, 'All planned iterations were done.')
    """
    method = AnnealedGFSVGD() if method is None else method
    _check_functions(log_prob, score, method)
    _check_tolerance(timeout, max_failure_rate)
    seed = None if seed is None else _whole_number("seed", seed, 0)
    with open_journal(checkpoint) as journal, ExitStack() as stack:
        stored = journal.load(allowed=("steinbox", type(method).__module__))
        seed = seed_for(seed, stored)
        rng = np.random.default_rng(seed)
        limits = as_bounds(bounds)
        distribution, particles = _start(initial, num_particles, limits, rng)
        transform = Identity() if limits is None else limits
        names = _checked_names(names, transform.to_user(particles).shape[1])
        max_evals = _budget(max_evals, method, len(particles))
        calls = Calls(
            log_prob,
            score=score if method.needs_score else None,
            vectorized=vectorized,
            takes_rng=_takes_rng(log_prob),
            seed=seed,
            retries=_whole_number("retries", retries, 0),
        )
        workers = stack.enter_context(closing(as_workers(executor, calls, timeout)))
        evaluator = Evaluator(
            calls, max_evals=max_evals, workers=workers, max_failure_rate=max_failure_rate, transform=transform
        )
        sampler = method.bind(distribution)
        config = {"method": type(method).__name__, "settings": _describe(method), "max_evals": max_evals}
        described = None if limits is None else limits.to_json()
        problem = {"names": names, "bounds": described, "initial particles": digest(particles)} | config
        if stored is None:
            journey = Journey(sampler.start(particles, max_evals, rng))
        else:
            journey = resumed(stored, problem, evaluator, rng)
        bar = stack.enter_context(progress_bar(progress))
        callbacks = bar if callback is None else (*bar, callback)
        outcome = run(
            sampler,
            evaluator,
            journey,
            rng,
            callbacks,
            keep=keeper(journal, problem, seed, evaluator, rng),
            show=partial(_in_user_units, transform=transform),
        )
        journal.write_last()
    return Result(
        particles=outcome.draws.particles,
        weights=outcome.draws.weights,
        log_prob=outcome.draws.log_prob,
        names=names,
        bounds=limits,
        num_evals=evaluator.num_evals,
        num_failures=evaluator.num_failures,
        failures=evaluator.failures,
        status=outcome.status,
        warnings=(*doubts(outcome), *journal.warnings),
        archive=evaluator.archive,
        trace={key: np.array([info[key] for info in outcome.trace]) for key in outcome.trace[0]},
        seed=seed,
        config=config,
        version=importlib.metadata.version("steinbox"),
    )


def _check_functions(log_prob: object, score: object, method: object) -> None:
    if not callable(log_prob):
        raise TypeError(f"expected log_prob to be a function, got {type(log_prob).__name__}")
    if isinstance(method, type):
        raise TypeError(f"expected a method object, got the class {method.__name__}; write method={method.__name__}()")
    if not (hasattr(method, "ask") and hasattr(method, "tell")):
        raise TypeError(f"expected a method such as sb.AnnealedGFSVGD(), got {method!r}")
    if score is not None and not callable(score):
        raise TypeError(f"expected score to be a function, got {type(score).__name__}")
    if getattr(method, "needs_score", False) and score is None:
        raise ValueError(
            f"{type(method).__name__} needs the gradient of log_prob: give score=, or choose a gradient-free method "
            "such as sb.AnnealedGFSVGD()"
        )


def _check_tolerance(timeout: float | None, max_failure_rate: float) -> None:
    if timeout is not None and not timeout > 0:
        raise ValueError(f"expected timeout to be a positive number of seconds, got {timeout!r}")
    if not 0 <= max_failure_rate <= 1:
        raise ValueError(f"expected max_failure_rate between 0 and 1, got {max_failure_rate!r}")


def _takes_rng(log_prob: Callable[..., Any]) -> bool:
    try:
        return "rng" in inspect.signature(log_prob).parameters
    except (TypeError, ValueError):  # some compiled functions have no signature
        return False


def _start(
    initial: object, num_particles: int | None, bounds: Bounds | None, rng: np.random.Generator
) -> tuple[Initial, Array]:
    """The initial distribution and the particles drawn from it, or the one fitted to the given particles; all free."""
    understood = Uniform(bounds) if initial is None and bounds is not None else as_initial(initial)
    dimension = understood.shape[1] if isinstance(understood, np.ndarray) else understood.dimension
    if bounds is not None and len(bounds.parameters) != dimension:
        raise ValueError(f"expected {dimension} bounds, one per parameter of `initial`, got {len(bounds.parameters)}")
    if isinstance(understood, np.ndarray):
        if num_particles not in (None, len(understood)):
            raise ValueError(
                f"num_particles={num_particles}, but `initial` holds {len(understood)} particles; leave one of them out"
            )
        particles = understood if bounds is None else free_particles(understood, bounds, rng)
        return fit_initial(particles), particles
    distribution = understood if bounds is None else FreeInitial(understood, bounds)
    num_particles = DEFAULT_PARTICLES if num_particles is None else _whole_number("num_particles", num_particles, 2)
    particles = np.ascontiguousarray(distribution.sample(num_particles, rng), dtype=np.float64)
    if particles.shape != (num_particles, distribution.dimension) or not np.isfinite(particles).all():
        raise ValueError(
            f"expected `initial` to draw finite particles of shape {(num_particles, distribution.dimension)}, "
            f"got shape {particles.shape}"
        )
    return path_start(distribution, particles, np.random.default_rng(0)), particles


def _in_user_units(draws: Draws, transform: Transform) -> Draws:
    """The user's parameters and log-density, from free particles and theirs."""
    log_prob = draws.log_prob - transform.log_volume(draws.particles)
    return Draws(transform.to_user(draws.particles), draws.weights, log_prob)


def _checked_names(names: Sequence[str] | None, dimension: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{k}" for k in range(dimension))
    if isinstance(names, str) or len(names) != dimension or len(set(names)) != dimension:
        raise ValueError(f"expected {dimension} different names, one per parameter, got {names!r}")
    return tuple(map(str, names))


def _budget(max_evals: int | None, method: Sampler, num_particles: int) -> int:
    if max_evals is not None:
        return _whole_number("max_evals", max_evals, 1)
    return method.evals_needed(num_particles) or max(DEFAULT_EVALS, 10 * num_particles)


def _whole_number(name: str, value: object, smallest: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 2e4 is a common way to write a budget
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < smallest:
        raise ValueError(f"expected {name} to be a whole number of at least {smallest}, got {value!r}")
    return int(value)


def _describe(value: object) -> Any:
    """Settings as JSON can hold them: numbers and text as they are, components by name, the rest by repr."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {"name": type(value).__name__} | {f.name: _describe(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (list, tuple)):
        return [_describe(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return repr(value)
