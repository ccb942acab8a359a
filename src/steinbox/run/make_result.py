"""What a run returns, from how it ended or from where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steinbox.evaluation import Account, Archive, count_failures
from steinbox.run.failures import Failures
from steinbox.run.loop import Outcome, trace_columns
from steinbox.run.problem import Task, to_user_units
from steinbox.run.result import Result
from steinbox.run.status import Status
from steinbox.samplers.base import Sampler, WeightedSample

if TYPE_CHECKING:
    from steinbox.run.live import Moment


def make_unfinished_result(
    sampler: Sampler[Any], task: Task, seed: int, texts: Mapping[str, dict[str, str]], moment: Moment
) -> Result:
    """What the run would return if it ended at this moment."""
    run_state = moment.run_state
    sample = to_user_units(sampler.sample(run_state.state), task.transform)
    outcome = Outcome(sample, tuple(run_state.trace), Status.RUNNING, record=run_state.record)
    return make_result(outcome, moment.account, moment.archive, task, seed, (), texts)


def make_result(
    outcome: Outcome,
    account: Account,
    archive: Archive,
    task: Task,
    seed: int,
    warnings: tuple[str, ...],
    texts: Mapping[str, dict[str, str]],
) -> Result:
    """The result of an outcome, in the user's units."""
    from importlib.metadata import version  # slow to import

    sample = outcome.sample
    pool = sample.pool or WeightedSample(sample.particles, sample.weights, sample.log_prob)
    return Result(
        particles=sample.particles,
        weights=sample.weights,
        log_prob=sample.log_prob,
        names=task.names,
        bounds=task.bounds,
        num_evals=account.num_evals,
        num_failures=count_failures(account.failures),
        failures=Failures(account.failures),
        status=outcome.status,
        warnings=warnings,
        archive=archive,
        pool=pool.points,
        pool_weights=pool.weights,
        pool_log_prob=pool.log_prob,
        log_evidence=sample.log_evidence,
        log_evidence_error=sample.log_evidence_error,
        effective_sample_size=pool.effective_sample_size,
        pareto_shape=pool.pareto_shape,
        mixture=pool.mixture,
        coverage=sample.coverage,
        trace=trace_columns(outcome.trace),
        seed=seed,
        config=task.config,
        version=version("steinbox"),
        constants=task.constants,
        record=outcome.record,
        units=texts["units"],
        descriptions=texts["descriptions"],
        arrivals=outcome.arrivals,
    )
