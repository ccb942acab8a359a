"""Chains that go on one by one: whatever comes back first, each makes the same steps, and they are exact ones.

Virtual time (``benchmarks/scale/virtual.py``): the real loop, without sleeping, always the same.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from implementations import SAMPLERS
from virtual import TIMES, lognormal, stragglers, virtual_time

import steinbox as sb
from steinbox import baselines
from steinbox.samplers.markov.metropolis import RandomWalk

START = sb.Gaussian([0.0, 0.0], std=3.0)
CHAINS = [name for name, each in SAMPLERS.items() if hasattr(each, "is_separable")]
SLOW = stragglers(0.05, share=0.1)


def normal(x):
    return -0.5 * ((x[0] - 1) ** 2 + x[1] ** 2)


def noisy(x, rng):
    return normal(x) + 0.3 * rng.standard_normal()


def crashes(x):
    if 0.5 < x[0] < 0.6:
        raise RuntimeError("the solver did not converge")
    return normal(x)


def run(method="fixed walk", log_prob=normal, num_workers=16, seconds=SLOW, **settings):
    method = SAMPLERS[method] if isinstance(method, str) else method
    settings = {"initial": START, "num_particles": 20, "max_evals": 400, "seed": 1, "asynchronous": True} | settings
    with virtual_time(num_workers, seconds) as run.virtual:
        return sb.sample(log_prob, method=method, executor=1, **settings)


def assert_same(ours, theirs):
    """As sets of evaluations: their order is that in which they came."""
    np.testing.assert_array_equal(ours.particles, theirs.particles)
    np.testing.assert_array_equal(ours.log_prob, theirs.log_prob)
    both = [np.column_stack([each.archive.points, each.archive.log_prob]) for each in (ours, theirs)]
    np.testing.assert_array_equal(*(np.unique(each, axis=0) for each in both))
    assert (ours.num_evals, ours.num_failures, ours.status) == (theirs.num_evals, theirs.num_failures, theirs.status)


def test_all_markov_chains_can():
    assert CHAINS == [
        "random walk",
        "fixed walk",
        "adaptive metropolis",
        "differential evolution",
        "kamh",
        "khmc",
        "khmc finite",
    ]


# -- nothing depends on the order of arrivals --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "log_prob"), [*((name, normal) for name in CHAINS), ("fixed walk", noisy), ("kamh", crashes)]
)
def test_each_chain_makes_the_same_steps_in_whatever_order_values_come(name, log_prob):
    settings = {"method": name, "log_prob": log_prob, "max_evals": 300, "max_failure_rate": 1.0}
    reference = run(**settings)
    assert_same(run(num_workers=3, seconds=lognormal(0.05), **settings), reference)
    assert_same(run(num_workers=100, seconds=lambda number, log_prob: np.exp(log_prob), **settings), reference)


def test_in_this_process_and_in_threads():
    reference = run()
    settings = {"method": SAMPLERS["fixed walk"], "num_particles": 20, "max_evals": 400, "seed": 1}
    assert_same(sb.sample(normal, START, asynchronous=True, **settings), reference)
    with ThreadPoolExecutor(16) as executor:  # so many that nobody has to ask
        assert_same(sb.sample(normal, START, executor=executor, **settings), reference)


def test_a_vectorized_function_gets_several_points():
    sizes = []

    def log_prob(x):
        sizes.append(len(x))
        return -0.5 * ((x[:, 0] - 1) ** 2 + x[:, 1] ** 2)

    settings = {"method": SAMPLERS["fixed walk"], "num_particles": 20, "max_evals": 400, "seed": 1}
    result = sb.sample(log_prob, START, vectorized=True, asynchronous=True, **settings)
    np.testing.assert_allclose(result.particles, run().particles)
    assert np.mean(sizes) > 10


@pytest.mark.parametrize("name", CHAINS)
def test_chains_that_learn_from_each_other_do_so_as_in_batches(name):
    """Until they have learned, nothing differs."""
    apart, batches = run(name), run(name, asynchronous=False)
    num_learning = 1 if name == "fixed walk" else 10  # of 20 rows: the start and half of 19 steps
    np.testing.assert_array_equal(apart.trace["acceptance"][:num_learning], batches.trace["acceptance"][:num_learning])
    assert apart.num_evals == batches.num_evals
    assert not np.array_equal(apart.particles, batches.particles)


# -- right, and busy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slow_where", [1.0, -1.0], ids=["inside", "outside"])
def test_chains_stay_exact_though_times_depend_on_the_density(slow_where):
    """They start with exact draws, so that their ends are exact ones, too, however long they were on their way."""
    start = sb.Gaussian([1.0, 0.0], std=1.0)
    settings = {"initial": start, "num_particles": 1_000, "max_evals": 6_000}
    result = run(seconds=lambda number, log_prob: float(np.exp(slow_where * 3 * log_prob)), num_workers=50, **settings)
    z = result.particles - start.mean
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(1_000)
    assert np.abs((z**2).mean(axis=0) - 1).max() < 4 * np.sqrt(2 / 1_000)
    assert np.abs(result.trace["acceptance"][1:].mean() - 0.8) < 0.1


def test_workers_are_busy_once_chains_have_learned():
    efficiency = {}
    for asynchronous in (False, True):
        for name in TIMES:
            run(seconds=TIMES[name], num_particles=100, max_evals=4_000, asynchronous=asynchronous)
            efficiency[asynchronous, name] = run.virtual.efficiency
    assert efficiency[True, "lognormal"] > 0.9 > 0.75 > efficiency[False, "lognormal"]
    assert efficiency[True, "stragglers"] > 0.7 > 0.45 > efficiency[False, "stragglers"]


# -- faults, limits, checkpoints ---------------------------------------------------------------------------------------


def test_failures_are_counted_exactly():
    num_failed = 0

    def count(x):
        nonlocal num_failed
        num_failed += 0.5 < x[0] < 0.6
        return crashes(x)

    result = run(log_prob=count)
    assert result.num_failures == num_failed == result.failures["exception"].count > 0
    assert result.num_evals == num_failed + len(result.archive) == 400


@pytest.mark.parametrize("name", ["fixed walk", "khmc"])
@pytest.mark.parametrize("num_iterations", [5, 12])
def test_a_resumed_run_is_the_run_that_was_never_stopped(name, num_iterations, tmp_path):
    """Also one that is stopped when chains have made different numbers of steps."""
    path = tmp_path / "run.ckpt"
    stopped = run(name, checkpoint=path, callback=lambda iteration: iteration.index == num_iterations)
    assert stopped.status is sb.Status.STOPPED_BY_CALLBACK
    resumed = run(name, checkpoint=path, asynchronous=None, num_workers=5)  # as the checkpoint has it
    whole = run(name)
    assert_same(resumed, whole)
    assert len(resumed.trace["acceptance"]) >= len(whole.trace["acceptance"])
    with pytest.raises(sb.CheckpointError, match="asynchronous was True"):
        run(name, checkpoint=path, asynchronous=False)


def test_ctrl_c_leaves_the_iteration_before():
    def interrupt(iteration):
        if iteration.index == 10:
            raise KeyboardInterrupt

    result = run(callback=interrupt)
    assert result.status is sb.Status.INTERRUPTED
    assert 200 <= result.num_evals == len(result.archive) < 400
    assert np.isfinite(result.log_prob).all()


def test_too_many_failures_end_the_run():
    result = run(log_prob=lambda x: np.nan if x[0] > 0.5 else normal(x), max_evals=4_000)
    assert result.status is sb.Status.TOO_MANY_FAILURES


def test_there_is_no_log_to_repeat():
    log = sb.sample(normal, START, num_particles=20, max_evals=200, asynchronous=True, seed=0).arrivals
    assert run().arrivals is None
    with pytest.raises(ValueError, match="RandomWalkMetropolis has no log: its chains are the same in any order"):
        run(asynchronous=log)


def test_chains_that_learn_to_the_end_run_in_batches():
    method = baselines.AdaptiveMetropolis(adaptation=1.0)
    assert_same(run(method), run(method, asynchronous=False))


# -- chains that learn from each other, and do not wait for all --------------------------------------------------------

LEADING = {name: replace(SAMPLERS[name], lead=3) for name in CHAINS}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_with_a_lead_make_the_same_steps_in_whatever_order_values_come(name):
    settings = {"method": LEADING[name], "max_evals": 300}
    reference = run(**settings)
    assert reference.num_evals == 300
    assert_same(run(num_workers=3, seconds=lognormal(0.05), **settings), reference)
    assert_same(run(num_workers=100, seconds=lambda number, log_prob: np.exp(log_prob), **settings), reference)
    assert_same(run(num_workers=1, seconds=lambda number, log_prob: 1.0, **settings), reference)


@pytest.mark.parametrize("name", ["adaptive metropolis", "khmc"])
@pytest.mark.parametrize("num_iterations", [2, 5, 12])
def test_a_resumed_run_with_a_lead_is_the_run_that_was_never_stopped(name, num_iterations, tmp_path):
    path, method = tmp_path / "run.ckpt", LEADING[name]
    stopped = run(method, checkpoint=path, callback=lambda iteration: iteration.index == num_iterations)
    assert stopped.status is sb.Status.STOPPED_BY_CALLBACK
    assert_same(run(method, checkpoint=path, asynchronous=None, num_workers=5), run(method))


def test_no_chain_is_ahead_by_more_than_its_lead_while_they_learn():
    """Watched where chains are told: the state's steps."""
    leads, method = [], replace(baselines.AdaptiveMetropolis(), lead=3)

    def watch(sampler, state, *others):
        moved, info = TELL(sampler, state, *others)
        if moved.backlog.num_learned < moved.backlog.last_step:
            leads.append(int(np.ptp(moved.num_steps)))
        return moved, info

    TELL = type(method).tell_chains
    with mock.patch.object(type(method), "tell_chains", watch):
        run(method, max_evals=800, seconds=stragglers(0.05, share=0.05))
    assert 3 <= max(leads) <= 4, "3 steps, and one that is under way or made"


def test_what_is_proposed_is_learned_from_the_steps_of_all_chains_up_to_the_lead():
    """Each version is learned once, in order, from the states of all chains after that step."""
    seen = []

    def learn(walk, points, acceptance, step, rng):
        seen.append((step, points.copy(), acceptance))
        return LEARN(walk, points, acceptance, step, rng)

    LEARN = RandomWalk.learn
    method = replace(baselines.AdaptiveMetropolis(), lead=2)
    with mock.patch.object(RandomWalk, "learn", learn):
        reference = run(method)
        first, seen = seen, []
        run(method, num_workers=7, seconds=lognormal(0.05))
    assert [step for step, _, _ in first] == list(range(1, 10)), "half of 19 steps"
    known = {tuple(x) for x in reference.archive.points}
    for (_, points, acceptance), (_, again, again_acceptance) in zip(first, seen, strict=True):
        assert all(tuple(x) in known for x in points)
        np.testing.assert_array_equal(points, again)
        assert acceptance == again_acceptance


def test_a_lead_keeps_workers_busy_while_chains_learn():
    efficiency = []
    for lead in (0, 4):
        method = baselines.AdaptiveMetropolis(lead=lead)
        run(method, seconds=TIMES["lognormal"], num_workers=32, num_particles=200, max_evals=4_000)
        efficiency.append(run.virtual.efficiency)
    assert efficiency[1] > 0.85 > 0.75 > efficiency[0]


def test_chains_with_a_lead_adapt_and_reach_the_target():
    target = sb.Gaussian([1.0, -1.0], cov=[[1.0, 0.9], [0.9, 1.0]])
    settings = {"log_prob": lambda x: target.log_prob(x[None])[0], "num_particles": 300, "max_evals": 18_000}
    result = run(baselines.AdaptiveMetropolis(lead=4), **settings)
    np.testing.assert_allclose(result.particles.mean(axis=0), target.mean, atol=0.2)
    np.testing.assert_allclose(np.cov(result.particles.T), target.cov, atol=0.25)
    waiting = run(baselines.AdaptiveMetropolis(), **settings)
    acceptance = [each.trace["acceptance"][-10:].mean() for each in (result, waiting)]
    assert acceptance[0] == pytest.approx(acceptance[1], abs=0.1)


def test_in_batches_a_lead_changes_nothing():
    settings = {"asynchronous": False}
    assert_same(run(LEADING["adaptive metropolis"], **settings), run("adaptive metropolis", **settings))
    with pytest.raises(ValueError, match="expected lead to be a whole number of at least 0, got -1"):
        baselines.AdaptiveMetropolis(lead=-1)
