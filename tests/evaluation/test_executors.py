"""Where the evaluations run makes no difference, and what goes wrong there harms one point at most."""

import asyncio
import fnmatch
import functools
import multiprocessing
import multiprocessing.pool
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import cloudpickle
import loky
import numpy as np
import psutil
import pytest

import steinbox as sb
from steinbox.evaluation.calls import Block, Calls
from steinbox.evaluation.futures import Futures
from steinbox.evaluation.remote import serialize
from steinbox.evaluation.workers import WorkersLostError

START = sb.Gaussian([0.0, 0.0], std=3.0)
SPAWN = multiprocessing.get_context("spawn")


def run(log_prob, **settings):
    return sb.sample(log_prob, START, **{"num_particles": 20, "max_evals": 200, "seed": 1} | settings)


def normal(x):
    return -0.5 * ((x[0] - 1) * (x[0] - 1) + x[1] * x[1])  # a power of one number is rounded unlike one of an array


def normals(x):
    return -0.5 * ((x[:, 0] - 1) * (x[:, 0] - 1) + x[:, 1] * x[:, 1])


def noisy(x, rng):
    return normal(x) + 0.1 * rng.standard_normal()


def noisy_rows(x, rng):
    return normals(x) + 0.1 * np.array([generator.standard_normal() for generator in rng])


class MapOnly:
    """A pool with nothing but ``map``, in threads."""

    size = 3

    def map(self, function, tasks):
        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(function, tasks))


@pytest.fixture(scope="module")
def reference():
    return run(normal)


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        yield executor


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize(
    "executor",
    [lambda: None, lambda: 2, lambda: ThreadPoolExecutor(3), lambda: MapOnly(), lambda: loky.get_reusable_executor(2)],
    ids=["serial", "processes", "threads", "map only", "loky"],
)
def test_the_same_seed_gives_the_same_particles_everywhere(reference, executor, vectorized):
    result = run(normals if vectorized else normal, vectorized=vectorized, executor=executor())
    np.testing.assert_array_equal(result.particles, reference.particles)
    np.testing.assert_array_equal(result.archive.points, reference.archive.points)
    np.testing.assert_array_equal(result.archive.log_prob, reference.archive.log_prob)
    assert (result.archive.seconds >= 0).all()
    assert result.num_evals == reference.num_evals == len(result.archive) == 200


@pytest.mark.parametrize("num_processes", [1, 4])
def test_the_same_particles_with_any_number_of_processes(reference, num_processes):
    np.testing.assert_array_equal(run(normal, executor=num_processes).particles, reference.particles)


def test_the_standard_library_s_processes(reference, processes):
    np.testing.assert_array_equal(run(normal, executor=processes).particles, reference.particles)
    with SPAWN.Pool(2) as pool:
        np.testing.assert_array_equal(run(normal, executor=pool).particles, reference.particles)


def test_each_evaluation_has_its_own_generator_wherever_it_runs():
    serial = run(noisy)
    assert len(np.unique(serial.archive.log_prob - [normal(x) for x in serial.archive.points])) > 190
    for settings in ({"executor": 2}, {"log_prob": noisy_rows, "vectorized": True}):
        other = run(**{"log_prob": noisy} | settings)
        np.testing.assert_array_equal(other.particles, serial.particles)
    assert not np.array_equal(run(noisy, seed=2).archive.log_prob, serial.archive.log_prob)


def test_lambdas_and_closures_travel():
    shift = np.array([1.0, 0.0])
    result = run(lambda x: -0.5 * np.sum((x - shift) ** 2), executor=2)
    assert result.status is sb.Status.BUDGET_SPENT


class Data:
    """Something heavy: each time it is unpacked it leaves a line in a file."""

    def __init__(self, path):
        self.path = path

    def __setstate__(self, state):
        self.path = state["path"]
        with open(self.path, "a") as file:  # noqa: PTH123
            file.write("unpacked\n")

    def __call__(self, x):
        return normal(x)


@pytest.mark.parametrize("executor", [2, "executor"])
def test_the_function_travels_to_each_worker_once(tmp_path, executor, processes):
    log = tmp_path / "log"
    log.touch()
    result = run(Data(str(log)), executor=processes if executor == "executor" else executor)
    assert result.status is sb.Status.BUDGET_SPENT
    assert 1 <= len(log.read_text().splitlines()) <= 2


def at_some_points(x):
    """One point in twenty, by digits that no sampler chooses; with seed 1 none of the first batch."""
    return 0.8 < (100 * x[0]) % 1 < 0.82


def kills(x):
    if at_some_points(x):
        os.kill(os.getpid(), signal.SIGKILL)
    return normal(x)


def hangs(x):
    if at_some_points(x):
        time.sleep(1000)
    return normal(x)


def raises(x):
    if at_some_points(x):
        raise RuntimeError("no convergence")
    return normal(x)


def returns_nan(x):
    return np.nan if at_some_points(x) else normal(x)


@pytest.fixture(scope="module")
def with_failures():
    """What a run looks like in which just these points fail."""
    result = run(returns_nan)
    assert 2 <= result.num_failures < 20
    return result


@pytest.mark.parametrize(
    ("log_prob", "kind"), [(kills, "dead worker"), (hangs, "timeout"), (raises, "exception"), (returns_nan, "nan")]
)
def test_a_fault_harms_one_point_and_is_counted(with_failures, log_prob, kind):
    num_workers = 2 if log_prob in (kills, hangs) else 1
    result = run(log_prob, executor=num_workers, timeout=0.3 if log_prob is hangs else None)
    assert result.status is sb.Status.BUDGET_SPENT
    assert {name: failure.count for name, failure in result.failures.items()} == {kind: with_failures.num_failures}
    failure = result.failures[kind]
    assert failure.point == with_failures.failures["nan"].point, "the first in the order of the points"
    assert ("no convergence" in failure.traceback) == (kind == "exception")
    np.testing.assert_array_equal(result.particles, with_failures.particles)
    np.testing.assert_array_equal(result.archive.points, with_failures.archive.points)


@pytest.mark.parametrize("log_prob", [kills, pytest.param(hangs, marks=pytest.mark.slow)])
def test_a_vectorized_block_that_fails_is_taken_apart(with_failures, log_prob):
    def rows(x):
        return np.array([log_prob(row) for row in x])

    result = run(rows, vectorized=True, executor=1, timeout=0.3 if log_prob is hangs else None)
    assert result.num_failures == with_failures.num_failures
    np.testing.assert_array_equal(result.particles, with_failures.particles)


def pids_of_workers():
    """Processes of steinbox's own: children that run Python, but not their resource tracker."""
    children = psutil.Process().children()
    return [child.pid for child in children if "popen_loky" in " ".join(child.cmdline())]


@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_a_worker_that_dies_while_it_is_idle_costs_nothing(reference, seconds):
    killed = []

    def kill_one(iteration):
        if iteration.index == 3:
            killed.extend(pids_of_workers()[:1])
            os.kill(killed[0], signal.SIGKILL)
            psutil.wait_procs([psutil.Process(killed[0])] if seconds and psutil.pid_exists(killed[0]) else [], seconds)

    result = run(normal, executor=2, callback=kill_one)
    assert killed
    assert result.num_failures == 0
    np.testing.assert_array_equal(result.particles, reference.particles)


class DiesOnArrival:
    """Kills the first processes that load it."""

    def __init__(self, folder, times):
        self.folder, self.times = folder, times

    def __setstate__(self, state):
        self.__dict__.update(state)
        if len(list(self.folder.iterdir())) < self.times:
            (self.folder / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def __call__(self, x):
        return normal(x)


def test_a_worker_that_dies_while_it_starts_is_replaced_until_it_is_hopeless(reference, tmp_path):
    result = run(DiesOnArrival(tmp_path, times=2), executor=1)
    np.testing.assert_array_equal(result.particles, reference.particles)
    with pytest.raises(RuntimeError, match="4 worker processes died while they loaded log_prob"):
        run(DiesOnArrival(tmp_path, times=100), executor=1)


def test_no_process_is_left_behind():
    run(normal, executor=2)
    with pytest.raises(sb.TargetError):
        run(lambda x: 1 / 0, executor=1)
    assert not pids_of_workers()


def test_a_worker_that_dies_once_costs_nothing(tmp_path, reference):
    """The memory of a simulator that was killed once is enough the second time."""
    mark = tmp_path / "killed"

    def log_prob(x):
        if at_some_points(x) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return normal(x)

    result = run(log_prob, executor=1)
    assert mark.exists()
    assert result.num_failures == 0
    np.testing.assert_array_equal(result.particles, reference.particles)


def test_retries_are_for_exceptions(tmp_path, reference):
    def log_prob(x):
        mark = tmp_path / f"{x[0]:.12f}"
        if at_some_points(x) and not mark.exists():
            mark.touch()
            raise OSError("the licence server was busy")
        return normal(x)

    assert run(log_prob, retries=0, executor=1).num_failures >= 2
    for mark in tmp_path.iterdir():
        mark.unlink()
    result = run(log_prob, retries=1, executor=1)
    assert result.num_failures == 0
    np.testing.assert_array_equal(result.particles, reference.particles)


def test_too_many_failures_stop_the_run_with_its_particles():
    def worse_and_worse(x):
        return np.nan if abs(x[0] - 0.5) < 1.2 else normal(x)

    result = run(worse_and_worse, num_particles=50, max_evals=5_000)
    assert result.status is sb.Status.TOO_MANY_FAILURES
    assert result.num_evals < 5_000
    assert any("Failures ended the run" in warning for warning in result.warnings)
    assert np.isfinite(result.particles).all()
    patient = run(worse_and_worse, num_particles=50, max_evals=1_000, max_failure_rate=1.0)
    assert patient.status is sb.Status.BUDGET_SPENT


@pytest.mark.parametrize("executor", [1, "executor"])
def test_a_bug_stops_at_once_also_elsewhere(executor, processes):
    def bug(x):
        return undefined_name  # noqa: F821

    with pytest.raises(sb.TargetError, match="NameError") as caught:
        run(bug, executor=processes if executor == "executor" else executor)
    assert "undefined_name" in caught.value.__notes__[0]


def test_a_broken_executor_of_the_user_s_leaves_a_valid_result():
    with ProcessPoolExecutor(2, mp_context=SPAWN) as broken:
        result = run(kills, executor=broken)
    assert result.status is sb.Status.WORKERS_LOST
    assert "give executor=2" in " ".join(result.warnings)
    assert np.isfinite(result.log_prob).any()


def test_an_executor_that_breaks_with_the_last_values_is_lost_once_they_are_handed_over():
    """One of the last two calls comes back, the other's process dies: nothing is left to wait for."""
    outcomes = [normals, BrokenProcessPool("a process died")]

    def submit(*task):
        future, outcome = Future(), outcomes.pop(0)
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(task[0](task[1]))
        return future

    workers = Futures(Calls(normals, vectorized=True), submit, 2, timeout=None, payload=None)
    for number in range(2):
        workers.submit(Block(np.ones((1, 2)), np.array([number])))
    assert len(workers.collect()) == 1
    with pytest.raises(WorkersLostError, match="takes no more calls"):
        workers.collect()


def test_an_executor_that_breaks_while_it_is_idle_leaves_a_valid_result():
    with ProcessPoolExecutor(2, mp_context=SPAWN) as broken:

        def kill(iteration):
            if iteration.index == 3:
                for process in list(broken._processes.values()):
                    process.kill()
                    process.join()
                while not broken._broken:
                    time.sleep(0.01)

        result = run(normal, executor=broken, callback=kill)
    assert result.status is sb.Status.WORKERS_LOST
    assert "give executor=2" in " ".join(result.warnings)


def test_workers_of_the_user_s_that_all_hang_are_given_up():
    release = threading.Event()

    def stuck(x):
        return release.wait() if at_some_points(x) else normal(x)

    with ThreadPoolExecutor(1) as threads:
        result = run(stuck, executor=threads, timeout=0.2)
        release.set()
    assert result.status is sb.Status.WORKERS_LOST
    assert "all 1 workers of the executor hang" in " ".join(result.warnings)


def test_a_pool_that_loses_a_process_does_not_hang():
    with SPAWN.Pool(2) as pool:
        try:
            result = run(kills, executor=pool)
        except sb.WorkersLostError as error:
            assert "a process of the pool died" in str(error)  # noqa: PT017
        else:
            assert result.status is sb.Status.WORKERS_LOST


@pytest.mark.parametrize("shut_down", ["shutdown", "close", "terminate", "terminate in a call"])
def test_a_pool_that_is_shut_down_in_mid_run_leaves_a_valid_result(shut_down):
    pool = ThreadPoolExecutor(2) if shut_down == "shutdown" else multiprocessing.pool.ThreadPool(2)
    is_over = threading.Event()

    def log_prob(x):
        if is_over.is_set():
            time.sleep(0.1)
        return normal(x)

    def end(iteration):
        if iteration.index != 3:
            return
        is_over.set()
        method = getattr(pool, shut_down.split()[0])
        threading.Timer(0.3, method).start() if "call" in shut_down else method()

    result = run(log_prob, executor=pool, callback=end)
    assert result.status is sb.Status.WORKERS_LOST
    assert len(result.trace["mean_log_prob"]) >= 4
    assert np.isfinite(result.log_prob).any()


class Odd(BaseException):
    """Not an Exception."""


@pytest.mark.parametrize(
    ("kind", "executor"),
    [(GeneratorExit, None), (asyncio.CancelledError, None), (Odd, None), (asyncio.CancelledError, 1), (Odd, 1)],
)
def test_whatever_is_raised_fails_its_point(kind, executor):
    def raises_it(x):
        if at_some_points(x):
            raise kind("so")
        return normal(x)

    result = run(raises_it, executor=executor)
    assert result.status is sb.Status.BUDGET_SPENT
    assert f"{kind.__name__}: so" in result.failures["exception"].message


def test_a_function_of_main_travels_with_its_cached_helpers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import functools
            import steinbox as sb
            @functools.cache
            def factorial(n):
                return n * factorial(n - 1) if n else 1.0
            class Model:
                @functools.lru_cache(maxsize=5)
                def width(self):
                    return factorial(3)
            model = Model()
            def log_prob(x):
                assert Model.width.cache_parameters()["maxsize"] == 5
                return -0.5 * float(x @ x) / model.width()
            if __name__ == "__main__":
                start = sb.Gaussian([0.0], std=3.0)
                result = sb.sample(log_prob, start, num_particles=20, max_evals=200, executor=1, seed=0)
                print(result.status.name, result.num_failures)
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["BUDGET_SPENT", "0"], done.stderr


def test_a_cached_function_of_a_module_travels_by_name():
    cached = fnmatch._compile_pattern
    assert type(cached) is type(functools.cache(normal))
    assert cloudpickle.loads(serialize(Calls(cached))).log_prob is cached


def test_slow_calls_are_not_late_because_they_travel_together():
    def slow(x):
        time.sleep(0.02)
        return normal(x)

    for executor in (2, ThreadPoolExecutor(2)):
        result = run(slow, executor=executor, timeout=1.0)
        assert result.num_failures == 0
        assert result.status is sb.Status.BUDGET_SPENT


def test_exits_are_failures():
    def leaves(x):
        if at_some_points(x):
            sys.exit("fatal")
        return normal(x)

    for executor in (None, 1):
        assert "SystemExit: fatal" in run(leaves, executor=executor).failures["exception"].message


def test_workers_end_with_their_parent(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import os, time
            import steinbox as sb
            def log_prob(x):
                open(f"worker-{os.getpid()}", "w").close()
                time.sleep(0.01)
                return -float(x @ x)
            if __name__ == "__main__":
                sb.sample(log_prob, sb.Gaussian([0.0], std=3.0), max_evals=100_000, executor=2)
        """)
    )
    parent = subprocess.Popen([sys.executable, script], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("worker-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    assert len(workers) == 2
    alive = [psutil.Process(pid) for pid in workers if psutil.pid_exists(pid)]
    assert not psutil.wait_procs(alive, timeout=20)[1]


def test_a_generator_that_is_already_given_is_left_alone():
    mine = np.random.default_rng(0)
    state = mine.bit_generator.state
    run(functools.partial(noisy, rng=mine), max_evals=60)
    assert mine.bit_generator.state != state


def test_threads_of_any_kind_share_the_function():
    lock, calls = threading.Lock(), []

    def counted(x):
        with lock:
            calls.append(1)
        return normal(x)

    with multiprocessing.pool.ThreadPool(2) as pool:
        run(counted, executor=pool)
    assert len(calls) == 200 + 2, "two, to see that it has not changed, are not counted"


def test_who_is_faster_does_not_decide_what_is_hopeless():
    def first_is_slow(x):
        if x[0] == first:
            time.sleep(0.3)
            return normal(x)
        raise ValueError("not here")

    first = START.sample(20, np.random.default_rng(1))[0, 0]
    for executor in (None, 2):
        with pytest.raises(RuntimeError, match="at least 2 are needed"):  # not a bug, but nothing to go on with
            run(first_is_slow, executor=executor, max_failure_rate=1.0, method=sb.AnnealedGFSVGD())


def test_ctrl_c_gives_what_was_paid_for():
    """The parent is interrupted, as a terminal does it, while a worker sleeps."""

    def slow(x):
        time.sleep(0.002)
        return normal(x)

    def interrupt(iteration):
        if iteration.index == 3:
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()

    result = run(slow, executor=2, max_evals=20_000, callback=interrupt)
    assert result.status is sb.Status.INTERRUPTED
    assert 80 <= result.num_evals == len(result.archive) < 20_000


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"executor": 0}, ValueError, "at least 1 process, got 0"),
        ({"executor": True}, TypeError, "got bool"),
        ({"executor": MapOnly(), "timeout": 1.0}, ValueError, "a pool that has only `map`"),
        ({"executor": 1, "timeout": "5"}, ValueError, "expected timeout to be a positive number of seconds, got '5'"),
        ({"executor": "all"}, TypeError, "expected executor to be a number of processes"),
        ({"timeout": 1.0}, ValueError, "timeout= needs a process that can be stopped"),
        ({"executor": 1, "timeout": -1.0}, ValueError, "expected timeout to be a positive number"),
        ({"retries": -1}, ValueError, "expected retries"),
        ({"max_failure_rate": 2.0}, ValueError, "max_failure_rate"),
    ],
)
def test_nonsense_is_refused_in_words(settings, error, message):
    with pytest.raises(error, match=message):
        run(normal, **settings)


class CannotArrive:
    """Travels, and falls apart on arrival."""

    def __reduce__(self):
        return (undo, ())

    def __call__(self, x):
        return normal(x)


def undo():
    raise RuntimeError("no licence on this machine")


def test_what_cannot_arrive_is_said_in_words():
    with pytest.raises(RuntimeError, match="could not be loaded in a worker process: RuntimeError: no licence"):
        run(CannotArrive(), executor=1)


def test_what_cannot_travel_is_refused_in_words():
    lock = threading.Lock()

    def locked(x):
        with lock:
            return normal(x)

    with pytest.raises(TypeError, match="log_prob cannot be sent to another process"):
        run(locked, executor=2)
    assert run(locked, executor=ThreadPoolExecutor(2)).status is sb.Status.BUDGET_SPENT


# -- clusters ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # Dask's own, when a worker is killed
def test_dask_survives_the_death_of_a_worker(reference):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill_one(iteration):
            if iteration.index == 3:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        result = run(normal, executor=client, callback=kill_one)
    assert result.status is sb.Status.BUDGET_SPENT
    assert result.num_failures == 0
    np.testing.assert_array_equal(result.particles, reference.particles)


def test_mpi_with_two_ranks(tmp_path):
    """Compared within one process: how many threads linear algebra has under MPI may change the last bits."""
    pytest.importorskip("mpi4py")
    mpirun = os.path.join(os.path.dirname(sys.executable), "mpiexec")  # noqa: PTH118, PTH120
    if not os.path.exists(mpirun):  # noqa: PTH110
        pytest.skip("no MPI is installed beside Python (pip install mpich)")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import numpy as np
            import steinbox as sb
            from mpi4py.futures import MPIPoolExecutor

            def normal(x):
                return -0.5 * ((x[0] - 1) * (x[0] - 1) + x[1] * x[1])

            if __name__ == "__main__":
                settings = {"num_particles": 20, "max_evals": 200, "seed": 1}
                start = sb.Gaussian([0.0, 0.0], std=3.0)
                with MPIPoolExecutor() as executor:
                    result = sb.sample(normal, start, executor=executor, **settings)
                serial = sb.sample(normal, start, **settings)
                np.savez("particles.npz", parallel=result.particles, serial=serial.particles)
        """)
    )
    command = [mpirun, "-n", "2", sys.executable, "-m", "mpi4py.futures", str(script)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120, capture_output=True)
    particles = np.load(tmp_path / "particles.npz")
    np.testing.assert_array_equal(particles["parallel"], particles["serial"])


@pytest.mark.filterwarnings("ignore")  # Dask's own, when a worker is killed
def test_dask_workers_that_die_and_workers_that_join_are_used_without_waiting():
    distributed = pytest.importorskip("distributed")

    def slow(x):
        time.sleep(0.01)
        return normal(x)

    num_busy = []
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def change(iteration):
            num_busy.append(sum(client.nthreads().values()))
            if iteration.index == 1:
                cluster.scale(2)
            if iteration.num_evals > 400 and not killed:
                killed.append(True)
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        killed: list[bool] = []
        settings = {"max_evals": 600, "method": sb.AdaptiveImportanceSampling(stop_early=False)}
        result = run(slow, executor=client, callback=change, asynchronous=True, **settings)
    assert result.status is sb.Status.BUDGET_SPENT
    assert result.num_evals == 600
    assert result.num_failures == 0
    assert max(num_busy) == 4
    again = run(normal, asynchronous=result.arrivals, **settings)
    np.testing.assert_array_equal(again.particles, result.particles)


def test_a_function_that_is_sent_to_a_dask_worker_just_killed_is_sent_again(monkeypatch):
    monkeypatch.setattr("steinbox.evaluation.executors._SECONDS_TO_NOTICE", 0.0)
    monkeypatch.setattr("steinbox.evaluation.executors._MAX_BYTES_IN_TASK", 0)
    sent = []

    class Remote(Future):
        def __init__(self, value):
            super().__init__()
            self.set_result(value)

    class Client:
        def scatter(self, payload, **settings):
            sent.append(payload)
            if len(sent) < 3:
                raise OSError("Stream is closed")
            return payload

        def scheduler_info(self): ...

        def nthreads(self):
            return {"one": 1}

        def submit(self, function, *arguments, pure):
            return Remote(function(*arguments))

    result = run(normal, executor=Client())
    assert len(sent) == 3
    assert result.num_failures == 0
