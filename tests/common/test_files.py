"""Files of others: what they claim is checked, what they would do to a terminal or to memory is not done."""

import hashlib
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import steinbox as sb
from steinbox.cli.main import app

START = sb.Gaussian([0.0, 0.0], std=3.0)
ESCAPE = "\x1b[2J\x1b]0;owned\x07"


def log_prob(x):
    if x[0] > 4:
        raise ValueError("too far")
    return -0.5 * float(x @ x)


def run(**settings):
    return sb.sample(log_prob, START, **{"num_particles": 20, "max_evals": 200, "seed": 1} | settings)


@pytest.fixture(scope="module")
def result():
    result = run(names=("mass", "radius"))
    assert 0 < result.num_failures < 50
    return result


def forge(source, target, **changes):
    """A file with another header."""
    with np.load(source) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header")))
    np.savez(target, header=np.array(json.dumps(header | changes)), **arrays)
    return target


def forge_checkpoint(path, change):
    """A checkpoint with another account, and the right checksum."""
    first, _, content = path.read_bytes().split(b"\n", 2)
    source = path.with_suffix(".npz")
    source.write_bytes(content)
    with np.load(source) as file:
        account = json.loads(str(file["header"]))["account"]
    change(account["fields"])
    content = forge(source, source, account=account).read_bytes()
    path.write_bytes(b"%s\n%s\n%s" % (first, hashlib.sha256(content).hexdigest().encode(), content))


def test_escapes_in_a_file_do_not_reach_the_terminal(result, tmp_path):
    path = forge(
        result.save(tmp_path / "good.npz"),
        tmp_path / "bad.npz",
        names=["mass" + ESCAPE, "radius"],
        warnings=[ESCAPE],
        version=ESCAPE,
        failures={
            "exception" + ESCAPE: {"count": result.num_failures, "point": [0, 0], "message": ESCAPE} | {"traceback": ""}
        },
    )
    loaded = sb.Result.load(path)
    assert loaded.names == (r"mass\x1b[2J\x1b]0;owned\x07", "radius")
    shown = [repr(loaded), str(loaded.summary()), *map(str, loaded.failures.values()), *loaded.failures, loaded.version]
    shown.append(CliRunner().invoke(app, ["diagnose", str(path)]).output)
    assert "owned" in "".join(shown)
    assert not {"\x1b", "\x07"} & set("".join(shown))


def test_lines_of_a_traceback_stay_lines(result, tmp_path):
    loaded = sb.Result.load(result.save(tmp_path / "result.npz"))
    assert loaded.failures == result.failures
    assert "\n" in loaded.failures["exception"].traceback


@pytest.mark.parametrize("num_evals", [-5, 10**15, 0.5, "many", None, True])
def test_counters_that_cannot_be_true_are_refused(result, tmp_path, num_evals):
    path = forge(result.save(tmp_path / "good.npz"), tmp_path / "bad.npz", num_evals=num_evals)
    with pytest.raises(ValueError, match=f"is not a result that steinbox saved: it claims {num_evals} evaluations"):
        sb.Result.load(path)
    assert sb.Result.load(forge(path, path, num_evals=200, num_failures=10**9)).num_failures == result.num_failures


def test_a_checkpoint_with_the_right_checksum_and_nonsense_in_it_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"

    def claim(number):
        return lambda account: account.update(num_evals=number)

    for number in (-100, 10**12):
        run(checkpoint=path, callback=lambda iteration: iteration.index == 3)
        forge_checkpoint(path, claim(number))
        path.with_name("run.ckpt.previous").unlink()
        with pytest.raises(sb.CheckpointError, match=f"it claims {number} evaluations"):
            run(checkpoint=path)
        path.unlink()


def test_escapes_in_a_checkpoint_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "run.ckpt"
    run(checkpoint=path)

    def change(account):
        account["failures"]["dict"]["exception"]["fields"]["message"] = ESCAPE

    forge_checkpoint(path, change)
    assert run(checkpoint=path).failures["exception"].message == r"\x1b[2J\x1b]0;owned\x07"


@pytest.mark.parametrize("load", [sb.Result.load, sb.Archive.load])
def test_a_small_file_does_not_take_a_lot_of_memory(tmp_path, load):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, header=np.array("{}"), **{f"zeros{k}": np.zeros(2**22) for k in range(9)})
    assert path.stat().st_size < 2**20
    with pytest.raises(ValueError, match="bytes would take 301,9.* in memory"):
        load(path)


def test_what_is_saved_can_be_loaded_however_well_it_compresses(tmp_path, monkeypatch):
    monkeypatch.setattr("steinbox.common.files._SMALL_BYTES", 1000)
    archive = sb.Archive(np.zeros((100_000, 3)), np.zeros(100_000), np.zeros(100_000))
    path = archive.save(tmp_path / "archive.npz")
    assert path.stat().st_size > 100_000 * 5 * 8
    np.testing.assert_array_equal(sb.Archive.load(path).points, archive.points)


@pytest.mark.parametrize("part", [lambda result: result, lambda result: result.archive])
def test_saving_through_a_link_keeps_it(result, tmp_path, part):
    (tmp_path / "disk").mkdir()
    link, file = tmp_path / "result.npz", tmp_path / "disk" / "real.npz"
    link.symlink_to(file)
    assert part(result).save(link) == link
    assert link.is_symlink()
    assert file.is_file()
    assert [path.name for path in file.parent.iterdir()] == ["real.npz"]
