"""Nothing that was evaluated is lost: values of a batch that was not complete are in the checkpoint, too."""

import contextlib
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import steinbox as sb
from steinbox import baselines
from steinbox.evaluation import workers
from steinbox.evaluation.calls import Block, Values
from steinbox.evaluation.faults import Fault, FaultKind
from steinbox.evaluation.unfinished import Unfinished, ValueLog
from steinbox.run import checkpoint

START = sb.Gaussian([0.0, 0.0], std=3.0)
SETTINGS = {"num_particles": 50, "max_evals": 400, "seed": 2}
METHODS = {
    "default": {},
    "SVGD": {"method": sb.SVGD(), "score": lambda x: -x},
    "SMC": {"method": baselines.SMC()},
}


@pytest.fixture(autouse=True)
def slow_calls(monkeypatch):
    """One point in a block, as with calls of a tenth of a second: a block that is interrupted is repeated."""
    monkeypatch.setattr(workers, "_BLOCK_SECONDS", 0.0)


class Target:
    """Counts calls, and is interrupted at one of them."""

    def __init__(self, last=np.inf):
        self.num_calls, self.last, self.points = 0, last, []

    def __call__(self, x):
        self.num_calls += 1
        if self.num_calls >= self.last:
            raise KeyboardInterrupt
        self.points.append(tuple(x))
        return -0.5 * float(x @ x), {"first": x[0]}


class Noisy(Target):
    def __call__(self, x, rng):
        value, derived = super().__call__(x)
        return value + 0.3 * rng.standard_normal(), derived


def assert_same(ours, theirs):
    np.testing.assert_array_equal(ours.particles, theirs.particles)
    np.testing.assert_array_equal(ours.archive.points, theirs.archive.points)
    np.testing.assert_array_equal(ours.archive.log_prob, theirs.archive.log_prob)
    np.testing.assert_array_equal(ours.archive.derived["first"], theirs.archive.derived["first"])


def run_in_pieces(path, make, size, **settings):
    """Run and resume, with an interrupt after so many calls; the result, all calls, and the number of jobs."""
    num_calls = 0
    for num_jobs in range(1, 100):
        target = make(size)
        try:
            result = sb.sample(target, START, checkpoint=path, **SETTINGS | settings)
        except KeyboardInterrupt:
            result = None
        num_calls += min(target.num_calls, size - 1)
        if result is not None and result.status is not sb.Status.INTERRUPTED:
            return result, num_calls, num_jobs
    raise AssertionError("the run makes no progress")


@pytest.mark.parametrize("settings", METHODS.values(), ids=METHODS)
def test_a_run_in_short_pieces_evaluates_nothing_twice(tmp_path, settings):
    """The pieces are shorter than a batch, and the first ends before there is a result."""
    whole = sb.sample(Target(), START, **SETTINGS | settings)
    result, num_calls, num_jobs = run_in_pieces(tmp_path / "run.ckpt", Target, 70, **settings)
    assert num_jobs > whole.num_evals / 70
    assert_same(result, whole)
    assert num_calls <= whole.num_evals + num_jobs + 2  # one call of each job sees that the function is the same


def test_noise_is_the_same_as_without_an_interrupt(tmp_path):
    whole = sb.sample(Noisy(), START, noise=0.3, **SETTINGS)
    result, num_calls, num_jobs = run_in_pieces(tmp_path / "run.ckpt", Noisy, 70, noise=0.3)
    assert_same(result, whole)
    assert num_calls <= whole.num_evals + num_jobs + 2


def test_what_failed_is_called_again(tmp_path):
    def crashes(x):
        raise RuntimeError("no licence") if target.num_calls in (30, 35) else None

    class Crashing(Target):
        def __call__(self, x):
            value = super().__call__(x)
            crashes(x)
            return value

    target = Crashing(45)
    with pytest.raises(KeyboardInterrupt):
        sb.sample(target, START, checkpoint=tmp_path / "run.ckpt", **SETTINGS)
    failed = [target.points[k - 1] for k in (30, 35)]
    target = Target()
    result = sb.sample(target, START, checkpoint=tmp_path / "run.ckpt", **SETTINGS)
    assert result.num_failures == 0
    assert set(failed) <= set(target.points)
    assert_same(result, sb.sample(Target(), START, **SETTINGS))


def test_another_function_is_noticed_before_the_first_iteration(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        sb.sample(Target(40), START, checkpoint=tmp_path / "run.ckpt", **SETTINGS)
    with pytest.raises(ValueError, match="it is a different function"):
        sb.sample(lambda x: -float(x @ x), START, checkpoint=tmp_path / "run.ckpt", **SETTINGS)


def test_a_run_that_is_killed_in_a_batch_has_its_values_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_SECONDS_BETWEEN_VALUES", 0.0)
    monkeypatch.setattr(checkpoint, "MAX_WRITING_FRACTION", 1e9)

    class Copying(Target):
        def __call__(self, x):
            if self.num_calls == 345:  # as a kill would leave it
                shutil.copy(tmp_path / "run.ckpt", tmp_path / "copy.ckpt")
            return super().__call__(x)

    whole = sb.sample(Copying(), START, checkpoint=tmp_path / "run.ckpt", **SETTINGS)
    rest = Target()
    assert_same(sb.sample(rest, START, checkpoint=tmp_path / "copy.ckpt", **SETTINGS), whole)
    assert rest.num_calls <= whole.num_evals - 344 + 3


def test_workers_that_never_wait_lose_only_what_is_under_way(tmp_path):
    calls = Counter()

    def slow(x):
        calls[tuple(x)] += 1
        time.sleep(0.002)
        return -0.5 * float(x @ x), {"first": x[0]}

    settings = SETTINGS | {"asynchronous": True, "checkpoint": tmp_path / "run.ckpt"}
    result, num_jobs = None, 0
    while result is None or not result.status.is_complete:
        num_jobs += 1
        with ThreadPoolExecutor(2) as pool, contextlib.suppress(sb.TimeSpentError):
            result = sb.sample(slow, START, executor=pool, max_seconds=0.15, **settings)
    assert result.num_evals == 400
    repeated = sum(count - 1 for count in calls.values())
    assert repeated <= 4 * num_jobs + 3  # two workers, a block each in flight, and the one that is looked at


def test_what_was_told_is_forgotten_and_the_rest_is_kept():
    def part(*numbers, failed=()):
        faults = tuple(Fault(FaultKind.NAN, "") if n in failed else None for n in numbers)
        column = np.array(numbers, dtype=float)
        return Block(column[:, None], np.array(numbers)), Values(column, column[:, None], faults, column)

    log = ValueLog()
    log.add(*part(0, 1, 2))
    log.add(*part(3, 4, 5, failed=(4,)))
    log.tell(np.array([0, 1, 2, 3]))
    assert len(log.unfinished) == 5, "told, but the state does not know it yet"
    log.settle()
    assert log.unfinished.numbers.tolist() == [5]
    again = ValueLog()
    again.leave(log.unfinished)
    known, rest = again.recall(Block(np.array([[4.0], [5.0], [6.0]]), np.array([4, 5, 6])))
    assert [block.numbers.tolist() for block, _ in known] == [[5]]
    assert rest.numbers.tolist() == [4, 6]
    again.leave(log.unfinished)
    assert again.recall(Block(np.array([[5.5]]), np.array([5])))[0] == [], "another point"
    assert Unfinished.of([part(7, failed=(7,))]) is None
