"""A run that was stopped, however it was stopped, goes on as if nothing had happened."""

import dataclasses
import errno
import os
import random
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from implementations import SAMPLERS

import steinbox as sb
from steinbox.common import serialization
from steinbox.run import checkpoint, snapshot
from steinbox.run.checkpoint import Journal
from steinbox.run.resume import differences
from steinbox.samplers.markov.chains import MarkovChains

START = sb.Gaussian([0.0, 0.0], std=3.0)


def log_prob(x):
    return -0.5 * ((x[0] - 1) ** 2 + (x[1] - x[0] ** 2) ** 2)


def score(x):
    return np.array([-(x[0] - 1) + 2 * x[0] * (x[1] - x[0] ** 2), -(x[1] - x[0] ** 2)])


def noisy(x, rng):
    return np.nan if rng.random() < 0.05 else log_prob(x) + 1e-3 * rng.standard_normal()


def run(path=None, function=log_prob, **settings):
    defaults = {"method": sb.AnnealedGFSVGD(), "num_particles": 20, "max_evals": 300, "seed": 5, "score": score}
    settings = {"initial": START} | defaults | settings
    return sb.sample(function, settings.pop("initial"), checkpoint=path, **settings)


def interrupt_at(index):
    def callback(iteration):
        if iteration.index == index:
            raise KeyboardInterrupt

    return callback


def assert_same(ours, theirs):
    np.testing.assert_array_equal(ours.particles, theirs.particles)
    np.testing.assert_array_equal(ours.weights, theirs.weights)
    np.testing.assert_array_equal(ours.log_prob, theirs.log_prob)
    np.testing.assert_array_equal(ours.archive.points, theirs.archive.points)
    np.testing.assert_array_equal(ours.archive.log_prob, theirs.archive.log_prob)
    assert ours.trace.keys() == theirs.trace.keys()
    for name in ours.trace:
        np.testing.assert_array_equal(ours.trace[name], theirs.trace[name])
    for name in ("num_evals", "num_failures", "failures", "status", "seed", "names", "warnings"):
        assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_resumed_run_is_the_run_that_was_never_stopped(name, tmp_path):
    whole = run(method=SAMPLERS[name], function=noisy)
    path = tmp_path / "run.ckpt"
    for index in range(len(next(iter(whole.trace.values()))) // 3, 100, 3):
        stopped = run(path, method=SAMPLERS[name], function=noisy, callback=interrupt_at(index))
        if stopped.status.is_complete:
            break
        assert stopped.status is sb.Status.INTERRUPTED
    assert_same(run(path, method=SAMPLERS[name], function=noisy), whole)
    assert whole.num_failures > 0


def test_a_finished_run_is_not_paid_again(tmp_path):
    num_calls = 0

    def counted(x):
        nonlocal num_calls
        num_calls += 1
        return log_prob(x)

    first = run(tmp_path / "run.ckpt", counted)
    assert num_calls == 302, "two, to see that it has not changed, are not counted"
    assert_same(run(tmp_path / "run.ckpt", counted), first)
    assert num_calls == 303, "one call, to see that it is the same function"


def test_deleting_the_checkpoint_starts_anew(tmp_path):
    path = tmp_path / "run.ckpt"
    run(path, callback=interrupt_at(4))
    path.unlink()
    indices = []
    run(path, max_evals=200, callback=lambda iteration: indices.append(iteration.index))
    assert indices[0] == 0


def test_functions_among_the_settings_are_known_again(tmp_path):
    path = tmp_path / "run.ckpt"
    for callback in (interrupt_at(4), None):
        result = run(path, method=sb.AnnealedGFSVGD(bandwidth=lambda points: 1.0), callback=callback)
    assert result.status.is_complete


def test_a_function_that_fails_at_the_resumption_shows_how(tmp_path):
    def broken(x):
        raise OSError("the licence server is down")

    run(tmp_path / "run.ckpt", callback=interrupt_at(4))
    with pytest.raises(sb.TargetError, match="licence server is down"):
        run(tmp_path / "run.ckpt", broken)


def test_a_small_change_of_a_large_value_is_seen(tmp_path):
    run(tmp_path / "run.ckpt", lambda x: log_prob(x) - 1e6, callback=interrupt_at(4))
    with pytest.raises(sb.CheckpointError, match="it is a different function"):
        run(tmp_path / "run.ckpt", lambda x: log_prob(x) - 1e6 + 0.5)


def test_a_forked_child_does_not_hold_the_lock(tmp_path):
    """A pool of the user's is forked while the checkpoint is locked, and lives on."""
    with Journal(sb.Checkpoint(tmp_path / "run.ckpt")):
        child = os.fork()
        if child == 0:
            signal.pause()
    try:
        with Journal(sb.Checkpoint(tmp_path / "run.ckpt")):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize(
    ("checkpoint", "error", "message"),
    [
        (lambda folder: folder, sb.CheckpointError, "is a folder"),
        (lambda folder: sb.Checkpoint(folder / "a", seconds="5"), ValueError, "expected seconds to be a finite number"),
        (lambda folder: sb.Checkpoint(folder / "a", seconds=np.nan), ValueError, "expected seconds"),
    ],
)
def test_nonsense_is_refused_in_words(checkpoint, error, message, tmp_path):
    with pytest.raises(error, match=message):
        run(checkpoint(tmp_path))


def test_without_a_seed_the_checkpoint_s_is_taken(tmp_path):
    path = tmp_path / "run.ckpt"
    stopped = run(path, seed=None, callback=interrupt_at(4))
    resumed = run(path, seed=None)
    assert resumed.seed == stopped.seed
    assert_same(resumed, run(seed=stopped.seed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": 6}, "seed was 5 and is 6"),
        ({"max_evals": 400}, "max_evals was 300 and is 400"),
        ({"names": ["a", "b"]}, r"names was \['x0', 'x1'\] and is \['a', 'b'\]"),
        ({"method": sb.GFSVGD()}, "method was 'AnnealedGFSVGD' and is 'GFSVGD'"),
        ({"method": sb.AnnealedGFSVGD(schedule=sb.Schedule(power=1))}, "settings: schedule: power was 2.0 and is 1"),
        ({"num_particles": 25}, "to another run: num_particles was 20 and is 25. Use"),
        (
            {"method": sb.GFSVGD()},
            "to another run: method was '\\w+' and is 'GFSVGD'. Use another file, or delete this one$",
        ),
        ({"initial": sb.Gaussian([0.0, 0.0], std=1.0)}, "to another run: `initial` differs"),
        ({"function": lambda x: log_prob(x) + 1}, "log_prob at x = .* was .* and is .* now"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_kept(changed, message, tmp_path):
    path = tmp_path / "run.ckpt"
    run(path, callback=interrupt_at(4))
    before = path.read_bytes()
    with pytest.raises(sb.CheckpointError, match=message):
        run(path, **changed)
    assert path.read_bytes() == before


def test_a_checkpoint_of_another_dimension_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    run(path, callback=interrupt_at(4))
    with pytest.raises(sb.CheckpointError, match="names was"):
        sb.sample(lambda x: -x @ x, sb.Gaussian(np.zeros(3), std=1.0), num_particles=20, checkpoint=path, seed=5)


def test_two_runs_on_one_checkpoint(tmp_path):
    path = tmp_path / "run.ckpt"

    def second(iteration):
        if iteration.index == 1:
            with pytest.raises(sb.CheckpointError, match="another run is using the checkpoint run.ckpt"):
                run(path)

    assert run(path, callback=second).status.is_complete
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.ckpt", "run.ckpt.previous"]


def test_a_full_disk_is_a_warning_and_the_old_checkpoint_stays(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    run(path, callback=interrupt_at(4))
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(sb.CheckpointWarning, match="No space left on device"):
        result = run(path)
    assert result.status.is_complete
    assert any("No space left" in warning for warning in result.warnings)
    assert path.read_bytes() == before
    monkeypatch.undo()
    assert_same(run(path), run())


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(sb.CheckpointError, match="there is no folder"):
        run(tmp_path / "nowhere" / "run.ckpt")
    with pytest.raises(TypeError, match="expected checkpoint to be a path"):
        run(3)


def test_seconds_between_two_writings(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(Journal, "_write", lambda journal, content: written.append(len(content)))
    run(sb.Checkpoint(tmp_path / "run.ckpt", seconds=1000))
    assert len(written) == 2, "the first iteration, and the end"


# -- damage ------------------------------------------------------------------------------------------------------------


def damaged(content, rng):
    """The content cut off, or with some bytes changed."""
    place = rng.randrange(len(content))
    if rng.random() < 0.3:
        return content[:place]
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 8])):
        changed[place] ^= rng.randrange(1, 256)
        place = rng.randrange(len(content))
    return bytes(changed)


def test_damage_is_seen_and_the_previous_checkpoint_serves(tmp_path):
    """200 places: never a wrong result."""
    path, previous = tmp_path / "run.ckpt", tmp_path / "run.ckpt.previous"
    run(sb.Checkpoint(path), max_evals=100, callback=interrupt_at(3))
    good = {file: file.read_bytes() for file in (path, previous)}
    whole = run(max_evals=100)
    rng = random.Random(0)
    for number in range(200):
        path.write_bytes(damaged(good[path], rng))
        previous.write_bytes(good[previous])
        if number % 10 == 0:
            with pytest.warns(sb.CheckpointWarning, match="resuming from the previous checkpoint"):
                result = run(path, max_evals=100)
            assert_same(dataclasses.replace(result, warnings=whole.warnings), whole)
        else:
            with Journal(sb.Checkpoint(path)) as journal, pytest.warns(sb.CheckpointWarning):
                assert journal.load() is not None


def test_two_damaged_checkpoints_are_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    run(path, callback=interrupt_at(4))
    for file in list(tmp_path.iterdir()):
        file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(sb.CheckpointError, match="its checksum is wrong.*delete run.ckpt to start over"):
        run(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"my thesis", "is not a checkpoint"),
        (b"steinbox checkpoint 1\n", r"an earlier, unreleased version of steinbox \(format 1\); this version reads"),
        (b"steinbox checkpoint 99\n", r"a newer version of steinbox \(format 99\); .* upgrade steinbox to read it"),
    ],
)
def test_another_file_is_refused_and_kept(content, message, tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_bytes(content)
    with pytest.raises(sb.CheckpointError, match=message):
        run(path)
    assert path.read_bytes() == content


def test_descriptions_are_compared_as_json_has_them():
    assert differences({"a": 1, "b": [1]}, {"a": 1, "b": (1,)}) == ""


# -- names of classes --------------------------------------------------------------------------------------------------


def packed_names(tree):
    """The registered names in a packed tree."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree["class"]
        tree = list(tree.values())
    for each in tree if isinstance(tree, list) else ():
        yield from packed_names(each)


@pytest.mark.parametrize("name", SAMPLERS)
def test_all_that_a_run_writes_has_a_stable_name(name, tmp_path, monkeypatch):
    """After every iteration; no name of a module is among them."""
    names = set()

    def recorded(value, arrays):
        tree = serialization.pack(value, arrays)
        names.update(packed_names(tree))
        return tree

    monkeypatch.setattr(checkpoint, "MAX_WRITING_FRACTION", np.inf)
    monkeypatch.setattr(snapshot, "pack", recorded)
    result = run(tmp_path / "run.ckpt", method=SAMPLERS[name], function=noisy)
    assert {"evaluation-account", "evaluation-archive", "evaluation-failure"} < names
    assert names <= serialization.CLASSES.keys()
    assert sb.Result.load(result.save(tmp_path / "result.npz")).num_evals == result.num_evals


@dataclasses.dataclass(frozen=True)
class Steps:
    """A user's own proposal, which is a part of the state."""

    length: float

    def draw(self, points, rng):
        return points + self.length * rng.standard_normal(points.shape), np.zeros(len(points))

    def learn(self, points, acceptance, step, rng):
        return dataclasses.replace(self, length=0.9 * self.length)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Walk(MarkovChains):
    def first_proposal(self, particles):
        return Steps(1.0)


@pytest.fixture
def tables(monkeypatch):
    """A test may register what it likes."""
    for table in ("CLASSES", "_NAMES"):
        monkeypatch.setattr(serialization, table, dict(getattr(serialization, table)))


def test_a_state_without_a_name_is_refused_before_the_first_evaluation(tmp_path):
    points = []
    with pytest.raises(TypeError, match=r'write @steinbox.serializable\("my-package/steps"\) above the @dataclass'):
        run(tmp_path / "run.ckpt", lambda x: points.append(x) or 0.0, method=Walk())
    assert not points
    assert run(method=Walk()).status.is_complete, "without a checkpoint it needs none"


def test_a_custom_sampler_is_resumed_once_its_state_has_a_name(tables, tmp_path):
    sb.serializable("test/steps")(Steps)
    whole, path = run(method=Walk()), tmp_path / "run.ckpt"
    run(path, method=Walk(), callback=interrupt_at(3))
    assert_same(run(path, method=Walk()), whole)


def test_a_checkpoint_that_was_written_before_a_rename(tables, tmp_path):
    sb.serializable("test/steps")(Steps)
    whole, path = run(method=Walk()), tmp_path / "run.ckpt"
    run(path, method=Walk(), callback=interrupt_at(3))
    del serialization._NAMES[serialization.CLASSES.pop("test/steps")]
    with pytest.raises(sb.CheckpointError, match="run.ckpt cannot be resumed here: the file holds a 'test/steps'; reg"):
        run(path, method=Walk())
    strides = dataclasses.dataclass(frozen=True)(type("Strides", (Steps,), {"__module__": "somewhere.else"}))
    sb.serializable("test/steps")(strides)
    with Journal(sb.Checkpoint(path)) as journal:
        assert type(journal.load().state.proposal) is strides
    assert_same(run(path, method=Walk()), whole)


# -- killed ------------------------------------------------------------------------------------------------------------

SCRIPT = textwrap.dedent("""
    import sys
    import numpy as np
    import steinbox as sb
    import steinbox.run.checkpoint

    steinbox.run.checkpoint.MAX_WRITING_FRACTION = np.inf  # write after every iteration, however long that takes

    def log_prob(x, rng):
        return np.array([-0.5 * float(row @ row) + 0.01 * each.standard_normal() for row, each in zip(x, rng)])

    print("ready", flush=True)
    result = sb.sample(log_prob, sb.Gaussian(np.zeros(5), std=2.0), num_particles=50, max_evals=1_500, vectorized=True,
                       checkpoint=sys.argv[1], seed=0)
    result.save(sys.argv[2])
""")


def start(script, *arguments):
    process = subprocess.Popen([sys.executable, script, *map(str, arguments)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def killed_and_resumed(script, folder, seconds):
    """The result of a run that is killed after so long, again and again until one comes to its end."""
    for _ in range(100):
        process = start(script, folder / "run.ckpt", folder / "result.npz")
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        if process.returncode == 0:
            return sb.Result.load(folder / "result.npz")
        seconds *= 1.6
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize("num_kills", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_any_moment(num_kills, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    start(script, tmp_path / "whole.ckpt", tmp_path / "whole.npz").communicate()
    whole = sb.Result.load(tmp_path / "whole.npz")
    rng = random.Random(0)
    for number in range(num_kills):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert_same(killed_and_resumed(script, folder, seconds=rng.uniform(0.01, 0.6)), whole)
