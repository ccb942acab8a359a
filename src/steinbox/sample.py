"""The front door: check the arguments, build the pieces, run the loop, return a Result."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox.common.arrays import default_errstate
from steinbox.common.checks import is_number, whole_number
from steinbox.common.labels import check_texts
from steinbox.common.noise import Noise
from steinbox.evaluation import Archive, Calls, Evaluator, Workers, as_workers
from steinbox.model import Model, as_target
from steinbox.run.apart import run_apart
from steinbox.run.arrivals import Arrivals
from steinbox.run.asynchronous import run_asynchronously
from steinbox.run.checkpoint import Checkpoint
from steinbox.run.log import log_end, log_start
from steinbox.run.loop import REASONS_TO_STOP, Callback, Keep, RunState, run, start_record
from steinbox.run.make_result import make_result, make_unfinished_result
from steinbox.run.problem import Task, free_values, to_user_units, understand
from steinbox.run.progress import progress_bar, wants_progress
from steinbox.run.questions import ask_about_names, ask_about_spread, ask_about_values
from steinbox.run.result import Result
from steinbox.run.resume import checkpoint_hook, open_journal, restore_run, stored_seed
from steinbox.run.signals import signals_as_interrupts
from steinbox.run.snapshot import Snapshot
from steinbox.run.status import Status
from steinbox.run.warnings import collect_warnings, warn_of_failures, widen_by_failures
from steinbox.samplers.asynchronous import Asynchronous, Separable
from steinbox.samplers.base import Method, Sampler, State

if TYPE_CHECKING:
    from steinbox.run.live import LiveView, Moment

_NUM_PRIOR_DRAWS = 500  # kept with the result of a Model, for plots beside the posterior
_MIN_WORKERS = 16  # from which workers go on without waiting, if nobody says: fewer wait little, and a seed is enough
_ODD_QUANTITY = (
    "The derived quantity {name!r} does not always have the shape it had at first: where it differs, it is NaN."
)


@default_errstate()
def sample(
    log_prob: Callable[..., Any] | Model,
    initial: object = None,
    *,
    num_particles: int | None = None,
    method: Method[Any] | None = None,
    max_evals: int | None = None,
    max_seconds: float | None = None,
    vectorized: bool = False,
    score: Callable[..., Any] | None = None,
    names: Sequence[str] | None = None,
    by_name: bool = False,
    fixed: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    descriptions: Mapping[str, str] | None = None,
    bounds: Sequence[object] | Mapping[str, object] | None = None,
    executor: object = None,
    timeout: float | None = None,
    asynchronous: bool | Arrivals | None = None,
    retries: int = 0,
    max_failure_rate: float = 0.2,
    noise: float | bool | Noise | None = None,
    archive: Archive | None = None,
    checkpoint: str | Path | Checkpoint | None = None,
    callback: Callback | None = None,
    record: int | None = None,
    progress: bool | None = None,
    live: bool = False,
    seed: int | None = None,
) -> Result:
    """Draw particles from the distribution whose log-density is ``log_prob``, up to a constant.

    Parameters
    ----------
    log_prob : callable or Model
        ``(d,) -> float``, or ``(n, d) -> (n,)`` with ``vectorized=True``. −inf means outside the support. A point at
        which it raises, or returns NaN or +inf, counts as failed; the run continues without it. If it has a parameter
        ``rng``, it gets a generator for each evaluation (a list of them, one per point, with ``vectorized=True``), so
        that estimates by simulation are reproducible wherever they run. It may return ``(log_prob, {name: value or
        array})``: derived quantities, kept with each evaluation, see ``result.derived``. A :class:`steinbox.Model` has
        its prior apart.
    initial : Gaussian, scipy.stats distribution, list of univariate ones, dictionary of them, (n, d) array, or None
        Where to start: a distribution, or the particles themselves (annealed methods and the default then fit a
        Gaussian to them, as they do to the draws of a distribution with walls). It is cut off at the bounds; with None,
        a Model starts from its prior, and any other function uniformly between its bounds, which must be finite.
    num_particles : int
        200 if not given; an array as ``initial`` sets it.
    method : AdaptiveImportanceSampling, SVGD, GFSVGD, AnnealedSVGD, AnnealedGFSVGD or one of :mod:`steinbox.baselines`
        ``AdaptiveImportanceSampling()`` if not given. Your own is a subclass of :class:`steinbox.Sampler`.
    max_evals : int
        The budget of evaluations. If not given: what the method's ``num_iterations`` needs, or 20,000 (ten rounds of
        all particles if that is more). Not counted are two calls at the end, which notice a function that gives other
        values by then; they are not made if the median call took more than a second.
    max_seconds : float
        The time that this call may take, by the clock on the wall; looked at ten times a second, also while all calls
        hang, but without ``executor`` only between calls. If it ends in the middle of a batch, the particles are those
        of the iteration before. A run that is resumed has the time anew.
    vectorized : bool
        Whether ``log_prob`` (and ``score``) take all points at once.
    score : callable
        The gradient of ``log_prob``, for the methods that need it.
    names : sequence of str
        The parameters' names; ``x0, x1, …`` if not given, or those of a dictionary as ``initial``.
    by_name : bool
        Whether ``log_prob`` takes a dictionary of the parameters by name, in place of an array; of arrays, one entry
        for each point, with ``vectorized=True``. (So does ``score``, and returns one.)
    fixed : mapping of str to value
        Parameters that are held, by name: the function gets them as always, and the sampler does not know of them.
        They stand in ``result.constants``. ``names``, ``bounds`` and ``initial`` may still speak of them, or not.
    units, descriptions : mapping of str to str
        Of parameters and derived quantities, by name, as far as you like: they stand in tables, plots and files. They
        are added to those of a Model.
    bounds : sequence of (low, high), Periodic or None, or mapping of them by name
        One entry per parameter; None or ±inf for an open end. ``log_prob`` is never called on or beyond a bound (an
        angle may be its lower one).
    executor : int, executor or pool
        Where to evaluate: that many processes, a ``concurrent.futures`` executor, a ``dask.distributed`` Client, an
        ``mpi4py.futures`` or ``multiprocessing`` pool. The function is sent to each worker once. If not given,
        in this process.
    timeout : float
        Seconds after which a call counts as failed, and a process of steinbox's own that runs it is stopped. Needs
        ``executor``.
    asynchronous : bool or Arrivals
        Whether workers go on without waiting for whole batches, nor for a fit: the default then draws from the
        proposals it has, and every point is weighted by the one it was drawn from whenever it comes back. What comes
        back first is a matter of chance, so that the seed alone does not fix the particles: the seed and the log
        ``result.arrivals`` do, given here in place of True. Markov chains go on one by one once they have learned from
        each other; they need no log. If not given: from 16 workers on, if the method can.
    retries : int
        How often a call that raises is made again before it counts as failed.
    max_failure_rate : float
        The run stops when a larger share of the last 200 evaluations failed; those of the start (the first 200, or a
        twentieth of the budget) are not judged.
    noise : float, bool or Noise
        Says that ``log_prob`` is an estimate: its standard deviation, or True to have it estimated. The noise is taken
        to be normal, the same everywhere, and without bias in log p; ``sb.Noise(std, is_unbiased=True)`` if it is p
        that is estimated without bias. Surrogates then smooth instead of interpolating. The default weights smoothed
        values, which are also those of the result (``result.archive`` has the values themselves), and asks for twice
        as many draws before it stops early. Markov chains keep the estimate at their state, as they always do.
    archive : Archive
        Evaluations of earlier runs (``result.archive``): they train the surrogate and cost nothing again.
    checkpoint : str, Path or Checkpoint
        A file that is written after every iteration. The same call again resumes the run from there, bit for bit; the
        default may be given a larger ``max_evals`` then, and goes on even if it was finished.
    callback : callable
        Called with an :class:`steinbox.run.loop.Iteration` after every iteration; return True to stop.
    record : int
        Keep the particles of so many iterations, evenly spread over the run, in ``result.record``, to be drawn by
        :func:`steinbox.plotting.flow` and :func:`steinbox.plotting.animate`; at least 2.
    progress : bool
        Whether to show a progress bar. If not given: when the output is a terminal or a notebook.
    live : bool
        Whether to serve the page of :meth:`steinbox.Result.report` to this machine during the run, with a button
        that stops it. Its address is printed. Needs ``pip install "steinbox[report]"``.
    seed : int
        Fixes all randomness. If not given, one is drawn and kept in the result, so that any run can be repeated.

    Returns
    -------
    Result
        Its ``status`` says why the run ended. Ctrl-C, SIGTERM and SIGHUP end a run with a valid partial result, once
        the first iteration is complete.

    Examples
    --------
    >>> import steinbox as sb
    >>> def log_prob(x):
    ...     return -0.5 * (x[0] ** 2 + (x[1] - x[0]) ** 2)
    >>> result = sb.sample(log_prob, sb.Gaussian([0.0, 0.0], std=3.0), num_particles=50, max_evals=2_000, seed=0)
    >>> result.particles.shape, result.num_evals < 2_000, str(result.status)
    ((50, 2), True, 'The method has converged: more evaluations would hardly change the particles.')
    """
    method = _default_method() if method is None else method
    _check_functions(log_prob, score, method)
    _check_tolerance(timeout, max_seconds, max_failure_rate)
    seed = None if seed is None else whole_number("seed", seed, 0)
    texts = {"units": check_texts("units", units), "descriptions": check_texts("descriptions", descriptions)}
    if isinstance(log_prob, Model):
        texts = {key: {**getattr(log_prob, key), **given} for key, given in texts.items()}
    target = as_target(log_prob, initial, score=score, names=names, bounds=bounds, fixed=fixed, by_name=by_name)
    with signals_as_interrupts(), ExitStack() as stack:
        journal = None if checkpoint is None else stack.enter_context(open_journal(checkpoint))
        stored = None if journal is None else journal.load()
        if stored is not None:
            seed = stored_seed(seed, stored)
        seed = secrets.randbits(63) if seed is None else seed
        rng = np.random.default_rng(seed)
        task = understand(
            method,
            target.initial,
            num_particles,
            max_evals,
            noise,
            target.bounds,
            target.names,
            archive,
            target.constants,
            rng,
        )
        sampler = method.plan(task.problem)
        run_state = RunState(_start(sampler, task, rng))
        calls = Calls(
            target.log_prob,
            score=target.score if method.needs_score else None,
            vectorized=vectorized,
            takes_rng=target.takes_rng,
            seed=seed,
            retries=whole_number("retries", retries, 0),
            prior=target.prior,
        )
        workers = None
        if not (executor is None and timeout is None):
            workers = stack.enter_context(closing(as_workers(executor, calls, timeout)))
        evaluator = Evaluator(
            calls,
            max_evals=task.problem.max_evals,
            workers=workers,
            max_failure_rate=max_failure_rate,
            max_seconds=max_seconds,
            transform=task.transform,
        )
        if _is_asynchronous(asynchronous, sampler, workers, stored):
            task = replace(task, config={**task.config, "asynchronous": True})
        if stored is not None:
            is_noisy = bool(noise) and not calls.takes_rng
            run_state = restore_run(stored, task, sampler, evaluator, rng, is_noisy=is_noisy)
        if record is not None:
            run_state = start_record(run_state, whole_number("record", record, 2), task.problem, sampler)
        num_evals_before = evaluator.num_evals
        callbacks = () if callback is None else (callback,)
        log_start(task, seed, num_evals_before)
        view = None
        if live:
            view = _open_view(evaluator, partial(make_unfinished_result, sampler, task, seed, texts))
            stack.push(view.close_on_error)
        if wants_progress(progress):
            callbacks = (stack.enter_context(progress_bar()), *callbacks)
        keep = _keep_both(
            None if journal is None else checkpoint_hook(journal, task, seed, evaluator, run_state, rng),
            None if view is None else view.keep,
        )
        show = partial(to_user_units, transform=task.transform)
        try:
            if "asynchronous" not in task.config:
                outcome = run(sampler, evaluator, run_state, rng, task.problem.dimension, callbacks, keep, show)
            elif isinstance(sampler, Separable):
                dimension = task.problem.dimension
                outcome = run_apart(sampler, evaluator, run_state, rng, seed, dimension, callbacks, keep, show)
            else:
                log = asynchronous if isinstance(asynchronous, Arrivals) else None
                outcome = run_asynchronously(sampler, evaluator, run_state, rng, seed, callbacks, keep, show, log)
        except REASONS_TO_STOP:  # before there is a result; what was evaluated is kept all the same
            if journal is not None:
                journal.write_last()
            raise
        if outcome.status is Status.FINISHED and _is_cut_short(method, task, evaluator):
            outcome = replace(outcome, status=Status.BUDGET_SPENT)
        if journal is not None:
            journal.write_last()
        is_judged = outcome.status.is_complete and evaluator.num_evals > num_evals_before and not noise
        change = _find_change(evaluator) if is_judged else ""
    odd = (_ODD_QUANTITY.format(name=name) for name in sorted(evaluator.odd_quantities))
    known = {*task.names, *task.constants, *evaluator.archive.derived}
    names_asked = (each for key, given in texts.items() for each in ask_about_names(key, given, known))
    questions = (change, *odd, *names_asked, *ask_about_values(evaluator.archive, task.bounds))
    outcome = widen_by_failures(outcome, evaluator.recent_failures)
    warnings = (
        *collect_warnings(outcome, task.names),
        *warn_of_failures(evaluator.recent_failures),
        *filter(None, questions),
        *ask_about_spread(outcome, task, evaluator.archive),
        *(journal.warnings if journal else ()),
    )
    log_end(task, outcome, evaluator, warnings)
    result = make_result(outcome, evaluator.account, evaluator.archive, task, seed, warnings, texts)
    prior_draws = None if target.prior is None else target.prior.sample(_NUM_PRIOR_DRAWS, seed)
    result = replace(result, prior_draws=prior_draws)
    if view is not None:
        view.end(result)
    return result


def _default_method() -> Method[Any]:
    from steinbox.samplers.adaptive import AdaptiveImportanceSampling

    return AdaptiveImportanceSampling()


def _is_asynchronous(
    asked: bool | Arrivals | None, sampler: Sampler[Any], workers: Workers | None, stored: Snapshot | None
) -> bool:
    """Whether to run without batches: as asked, as the checkpoint was, or if there are many workers."""
    can = isinstance(sampler, Asynchronous | Separable)
    if asked is None and stored is not None:
        return bool(stored.problem.get("asynchronous", False))
    if asked is None:
        return can and workers is not None and workers.num_workers >= _MIN_WORKERS
    if not isinstance(asked, bool | Arrivals):
        raise TypeError(f"expected asynchronous to be True, False, or a log (result.arrivals), got {asked!r}")
    if asked is not False and not can:
        raise ValueError(f"{type(sampler).__name__} needs whole batches, one after the other; leave out asynchronous=")
    if isinstance(asked, Arrivals) and isinstance(sampler, Separable):
        raise ValueError(f"{type(sampler).__name__} has no log: its chains are the same in any order; expected True")
    return asked is not False


def _start(sampler: Sampler[State], task: Task, rng: np.random.Generator) -> State:
    """The state before the first evaluation, with what earlier runs found."""
    state = sampler.start(task.problem, rng)
    if task.archive is None:
        return state
    return sampler.warm_start(state, *free_values(task.archive, task.bounds))


def _is_cut_short(method: Method[Any], task: Task, evaluator: Evaluator) -> bool:
    """Whether it was the budget that ended a run: another round would not fit, and fewer were made than asked for."""
    needed = method.evals_needed(task.problem.num_particles)
    is_spent = evaluator.num_remaining < task.problem.num_particles
    return is_spent and (needed is None or needed > task.problem.max_evals)


def _find_change(evaluator: Evaluator) -> str:
    """Whether the function still says what it said; nothing that happens here may cost the result."""
    try:
        return evaluator.find_change()
    except (KeyboardInterrupt, Exception):  # also what an executor of the user's raises if it broke since
        return ""


def _open_view(evaluator: Evaluator, make_result: Callable[[Moment], Result]) -> LiveView:
    from steinbox.run.live import LiveView, announce  # a server is slow to import

    view = LiveView(evaluator, make_result)
    announce(view.url)
    return view


def _keep_both(*hooks: Keep | None) -> Keep | None:
    """What gives every iteration to all of these."""
    given = [hook for hook in hooks if hook is not None]

    def keep(run_state: RunState[Any]) -> None:
        for hook in given:
            hook(run_state)

    return keep if given else None


def _check_functions(log_prob: object, score: object, method: object) -> None:
    if not callable(log_prob):
        raise TypeError(f"expected log_prob to be a function, got {type(log_prob).__name__}")
    if isinstance(method, type):
        raise TypeError(f"expected a method object, got the class {method.__name__}; write method={method.__name__}()")
    if not isinstance(method, Method):
        raise TypeError(
            f"expected a method such as sb.AdaptiveImportanceSampling(), or your own sb.Sampler, got {method!r}"
        )
    if score is not None and not callable(score):
        raise TypeError(f"expected score to be a function, got {type(score).__name__}")
    if method.needs_score and score is None:
        raise ValueError(
            f"{type(method).__name__} needs the gradient of log_prob: give score=, or choose a gradient-free method "
            "such as sb.AdaptiveImportanceSampling()"
        )


def _check_tolerance(timeout: float | None, max_seconds: float | None, max_failure_rate: float) -> None:
    for name, seconds in {"timeout": timeout, "max_seconds": max_seconds}.items():
        if seconds is not None and not (is_number(seconds) and seconds > 0):
            raise ValueError(f"expected {name} to be a positive number of seconds, got {seconds!r}")
    if not (is_number(max_failure_rate) and 0 <= max_failure_rate <= 1):
        raise ValueError(f"expected max_failure_rate between 0 and 1, got {max_failure_rate!r}")
