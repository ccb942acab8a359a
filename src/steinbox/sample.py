"""The front door: check the arguments, build the pieces, run the loop, return a Result."""

from __future__ import annotations

import importlib.metadata
import inspect
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steinbox.common.checks import is_number, require_noise, whole_number
from steinbox.evaluation import Archive, Calls, Evaluator, as_workers
from steinbox.maps.bijection import Bijection, Identity
from steinbox.maps.bounds import Bounds, as_bounds
from steinbox.numerics.weights import effective_sample_size
from steinbox.run.checkpoint import Checkpoint
from steinbox.run.loop import Callback, Outcome, RunState, run
from steinbox.run.problem import in_user_units, known, start
from steinbox.run.progress import progress_bar
from steinbox.run.result import Result
from steinbox.run.resume import checkpoint_hook, choose_seed, digest, open_journal, restore_run
from steinbox.run.warnings import doubts
from steinbox.samplers import Sampler
from steinbox.samplers.adaptive import AdaptiveImportanceSampling
from steinbox.samplers.base import Sample, WeightedSample

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
    noise: float | bool | None = None,
    archive: Archive | None = None,
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
        Where to start: a distribution, or the particles themselves (annealed methods and the default then fit a
        Gaussian to them, as they do to the draws of a distribution with walls). It is cut off at the bounds; with None,
        and finite bounds, it is uniform between them.
    num_particles : int
        200 if not given; an array as ``initial`` sets it.
    method : AdaptiveImportanceSampling, SVGD, GFSVGD, AnnealedSVGD, AnnealedGFSVGD or one of :mod:`steinbox.baselines`
        ``AdaptiveImportanceSampling()`` if not given.
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
        One entry per parameter; None or ±inf for an open end. ``log_prob`` is never called on or beyond a bound (an
        angle may be its lower one).
    executor : int, executor or pool
        Where to evaluate: that many processes, a ``concurrent.futures`` executor, a ``dask.distributed`` Client, an
        ``mpi4py.futures`` or ``multiprocessing`` pool. The function travels to each worker once. Here if not given.
    timeout : float
        Seconds after which a call counts as failed, and a process of steinbox's own that runs it is stopped. Needs
        ``executor``.
    retries : int
        How often a call that raises is made again before it counts as failed.
    max_failure_rate : float
        The run stops when a larger share of the last 200 evaluations failed.
    noise : float or bool
        Says that ``log_prob`` is an estimate: its standard deviation, or True to have it estimated. Surrogates then
        smooth instead of interpolating, and the default stops early only later. Markov chains keep the estimate at
        their state, as they always do.
    archive : Archive
        Evaluations of earlier runs (``result.archive``): they train the surrogate without being paid again.
    checkpoint : str, Path or Checkpoint
        A file that is written after every iteration. The same call again takes the run up from there, bit for bit; the
        default may be given a larger ``max_evals`` then, and goes on even if it had come to its end.
    callback : callable
        Called with an :class:`steinbox.run.loop.Iteration` after every iteration; return True to stop.
    progress : bool
        Whether to show a progress bar. If not given: when the output is a terminal.
    seed : int
        Fixes all randomness. If not given, one is drawn and kept in the result, so that any run can be repeated.

    Returns
    -------
    Result
        Its ``status`` says why the run ended. Ctrl-C ends a run with a valid partial result, once the first iteration
        is complete.

    Examples
    --------
    >>> import steinbox as sb
    >>> def log_prob(x):
    ...     return -0.5 * (x[0] ** 2 + (x[1] - x[0]) ** 2)
    >>> result = sb.sample(log_prob, sb.Gaussian([0.0, 0.0], std=3.0), num_particles=50, max_evals=2_000, seed=0)
    >>> result.particles.shape, result.num_evals < 2_000, str(result.status)
    ((50, 2), True, 'The method has converged: more evaluations would hardly change the particles.')
    """
    method = _with_noise(noise, AdaptiveImportanceSampling() if method is None else method)
    _check_functions(log_prob, score, method)
    _check_tolerance(timeout, max_failure_rate)
    seed = None if seed is None else whole_number("seed", seed, 0)
    with open_journal(checkpoint) as journal, progress_bar(progress) as bar:
        stored = journal.load()
        seed = choose_seed(seed, stored)
        rng = np.random.default_rng(seed)
        problem = _problem(initial, num_particles, bounds, names, method, max_evals, archive, rng)
        calls = Calls(
            log_prob,
            score=score if method.needs_score else None,
            vectorized=vectorized,
            takes_rng=_takes_rng(log_prob),
            seed=seed,
            retries=whole_number("retries", retries, 0),
        )
        with closing(as_workers(executor, calls, timeout)) as workers:
            evaluator = Evaluator(
                calls,
                max_evals=problem.max_evals,
                workers=workers,
                max_failure_rate=max_failure_rate,
                transform=problem.transform,
            )
            journey = RunState(problem.state)
            if stored is not None:
                is_noisy = bool(noise) and not calls.takes_rng
                journey = restore_run(stored, problem.description, problem.sampler, evaluator, rng, is_noisy=is_noisy)
            outcome = run(
                problem.sampler,
                evaluator,
                journey,
                rng,
                callbacks=bar if callback is None else (*bar, callback),
                keep=checkpoint_hook(journal, problem.description, seed, evaluator, journey, rng),
                show=partial(in_user_units, transform=problem.transform),
            )
        journal.write_last()
    return _result(outcome, evaluator, problem, seed, tuple(journal.warnings))


@dataclass(frozen=True, eq=False)
class _Problem:
    """What was asked for, understood: where the sampler starts, and how the problem is known again."""

    names: tuple[str, ...]
    bounds: Bounds | None
    sampler: Sampler
    state: Any
    max_evals: int
    config: dict[str, Any]
    description: dict[str, Any]

    @property
    def transform(self) -> Bijection:
        return Identity() if self.bounds is None else self.bounds


def _problem(
    initial: object,
    num_particles: int | None,
    bounds: Sequence[object] | None,
    names: Sequence[str] | None,
    method: Sampler,
    max_evals: int | None,
    archive: Archive | None,
    rng: np.random.Generator,
) -> _Problem:
    limits = as_bounds(bounds)
    distribution, particles = start(initial, num_particles, limits, rng)
    checked_names = _checked_names(names, particles.shape[1] if limits is None else len(limits.parameters))
    budget = _budget(max_evals, method, len(particles))
    sampler = method.bind(distribution)
    state = sampler.start(particles, budget, rng)
    config = {"method": type(method).__name__, "settings": _describe(method), "max_evals": budget}
    described = {"bounds": None if limits is None else limits.to_json(), "initial particles": digest(particles)}
    if archive is not None:
        state = sampler.warm_start(state, *known(archive, limits, len(checked_names)))
        described["archive"] = digest(archive.points) + digest(archive.log_prob)
    return _Problem(
        checked_names, limits, sampler, state, budget, config, {"names": checked_names} | described | config
    )


def _result(
    outcome: Outcome, evaluator: Evaluator, problem: _Problem, seed: int, more_warnings: tuple[str, ...]
) -> Result:
    draws, last = outcome.draws, outcome.trace[-1]
    pool = draws.pool or _pool_of_particles(draws, float(last.get("log_evidence", np.nan)))
    return Result(
        particles=outcome.draws.particles,
        weights=outcome.draws.weights,
        log_prob=outcome.draws.log_prob,
        names=problem.names,
        bounds=problem.bounds,
        num_evals=evaluator.num_evals,
        num_failures=evaluator.num_failures,
        failures=evaluator.failures,
        status=outcome.status,
        warnings=(*doubts(outcome), *more_warnings),
        archive=evaluator.archive,
        pool=pool.points,
        pool_weights=pool.weights,
        log_evidence=pool.log_evidence,
        log_evidence_error=pool.log_evidence_error,
        effective_sample_size=pool.effective_sample_size,
        pareto_shape=pool.pareto_shape,
        mixture=pool.mixture,
        trace={key: np.array([info[key] for info in outcome.trace]) for key in outcome.trace[0]},
        seed=seed,
        config=problem.config,
        version=importlib.metadata.version("steinbox"),
    )


def _pool_of_particles(draws: Sample, log_evidence: float) -> WeightedSample:
    """The particles as the pool of a method that has none."""
    size = effective_sample_size(draws.weights)
    return WeightedSample(draws.particles, draws.weights, draws.log_prob, log_evidence, np.nan, size, np.nan, None, ())


def _check_functions(log_prob: object, score: object, method: object) -> None:
    if not callable(log_prob):
        raise TypeError(f"expected log_prob to be a function, got {type(log_prob).__name__}")
    if isinstance(method, type):
        raise TypeError(f"expected a method object, got the class {method.__name__}; write method={method.__name__}()")
    if not (hasattr(method, "ask") and hasattr(method, "tell")):
        raise TypeError(f"expected a method such as sb.AdaptiveImportanceSampling(), got {method!r}")
    if score is not None and not callable(score):
        raise TypeError(f"expected score to be a function, got {type(score).__name__}")
    if getattr(method, "needs_score", False) and score is None:
        raise ValueError(
            f"{type(method).__name__} needs the gradient of log_prob: give score=, or choose a gradient-free method "
            "such as sb.AdaptiveImportanceSampling()"
        )


def _with_noise(noise: float | bool | None, method: Any) -> Any:
    """The method, told that values are noisy if it cares."""
    if noise is not None:
        require_noise(noise)
    cares = noise is not None and is_dataclass(method) and hasattr(method, "noise") and not isinstance(method, type)
    return replace(method, noise=noise) if cares else method


def _check_tolerance(timeout: float | None, max_failure_rate: float) -> None:
    if timeout is not None and not (is_number(timeout) and timeout > 0):
        raise ValueError(f"expected timeout to be a positive number of seconds, got {timeout!r}")
    if not (is_number(max_failure_rate) and 0 <= max_failure_rate <= 1):
        raise ValueError(f"expected max_failure_rate between 0 and 1, got {max_failure_rate!r}")


def _takes_rng(log_prob: Callable[..., Any]) -> bool:
    """Whether there is a parameter ``rng`` that nobody has given a value yet."""
    try:
        rng = inspect.signature(log_prob).parameters.get("rng")
    except (TypeError, ValueError):  # some compiled functions have no signature
        return False
    by_name = rng is not None and rng.kind in (rng.KEYWORD_ONLY, rng.POSITIONAL_OR_KEYWORD)
    return rng is not None and by_name and rng.default in (None, rng.empty)


def _checked_names(names: Sequence[str] | None, dimension: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{k}" for k in range(dimension))
    if isinstance(names, str) or len(names) != dimension or len(set(names)) != dimension:
        raise ValueError(f"expected {dimension} different names, one per parameter, got {names!r}")
    return tuple(map(str, names))


def _budget(max_evals: int | None, method: Sampler, num_particles: int) -> int:
    if max_evals is not None:
        return whole_number("max_evals", max_evals, 1)
    return method.evals_needed(num_particles) or max(DEFAULT_EVALS, 10 * num_particles)


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
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    text = repr(value)
    return f"{type(value).__module__}.{type(value).__qualname__}" if " at 0x" in text else text
