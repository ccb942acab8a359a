"""A checkpoint that cannot be written is a warning, or refused before the first evaluation; never a lost result."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

import steinbox as sb
from steinbox.run.checkpoint import Journal

START = sb.Gaussian([0.0, 0.0], std=3.0)


def log_prob(x):
    return -0.5 * float(x @ x)


def run(path, **settings):
    settings = {"method": sb.AnnealedGFSVGD(), "num_particles": 20, "max_evals": 200, "seed": 5} | settings
    return sb.sample(log_prob, START, checkpoint=path, **settings)


def at_third_iteration(action):
    return lambda iteration: action() if iteration.index == 3 else None


def assert_result_with_warning(path, action):
    """The action spoils the checkpoint in mid-run; the run goes on, and the process holds no lock afterwards."""
    plain = run(None)
    with pytest.warns(sb.CheckpointWarning, match="could not be written"):
        result = run(path, callback=at_third_iteration(action))
    np.testing.assert_array_equal(result.particles, plain.particles)
    assert result.status is plain.status
    assert any("checkpoint could not be written" in warning for warning in result.warnings)
    assert not [link for link in open_files() if link.startswith(str(path))]


def open_files():
    """What this process holds open, on Linux."""
    return [str(link.readlink()) for link in Path("/proc/self/fd").glob("*") if link.is_symlink()]


def test_the_folder_disappears(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()

    def replace_by_a_file():
        folder.rename(tmp_path / "moved")
        folder.touch()

    assert_result_with_warning(folder / "run.ckpt", replace_by_a_file)


def test_the_folder_turns_read_only(tmp_path, monkeypatch):
    """Simulated, since whoever may do everything may also write to such a folder."""

    def turn_read_only():
        def refuse(path, *args, **kwargs):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

        monkeypatch.setattr("pathlib.Path.unlink", refuse)
        monkeypatch.setattr("pathlib.Path.replace", refuse)

    path = tmp_path / "run.ckpt"
    assert_result_with_warning(path, turn_read_only)
    monkeypatch.undo()
    assert path.stat().st_size > 0
    assert run(path).status.is_complete, "and nobody holds its lock"


def test_a_folder_takes_the_place_of_the_file_that_is_written(tmp_path):
    path = tmp_path / "run.ckpt"
    assert_result_with_warning(path, (tmp_path / "run.ckpt.partial").mkdir)


@pytest.mark.parametrize("name", ["x" * 235, "x" * 240, "x" * 248, "x" * 252, "x" * 300])
def test_a_name_without_room_for_the_others_is_refused_at_once(tmp_path, name):
    calls = []
    if len(name) == 235:
        assert run(tmp_path / name).status.is_complete
        return
    with pytest.raises(sb.CheckpointError, match="no checkpoint can be written to"):
        run(tmp_path / name, callback=calls.append)
    assert not calls
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_place_is_refused_at_once_and_the_lock_is_free(tmp_path):
    folder = tmp_path / "run.ckpt.partial"
    folder.mkdir()
    with pytest.raises(sb.CheckpointError, match="no checkpoint can be written to"):
        run(tmp_path / "run.ckpt")
    folder.rmdir()
    assert run(tmp_path / "run.ckpt").status.is_complete


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    link, file = tmp_path / "run.ckpt", tmp_path / "disk" / "real.ckpt"
    link.symlink_to(file)
    run(link, callback=lambda iteration: iteration.index == 3)
    assert link.is_symlink()
    assert file.is_file()
    assert sorted(path.name for path in file.parent.iterdir()) == ["real.ckpt", "real.ckpt.previous"]
    with Journal(sb.Checkpoint(link)), pytest.raises(sb.CheckpointError, match="another run is using"):
        run(file)
    np.testing.assert_array_equal(run(link).particles, run(None).particles)


def test_a_link_in_the_way_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for ending in (".partial", ".previous.partial"):
        (tmp_path / f"run.ckpt{ending}").symlink_to(precious)

    def put_back():
        (tmp_path / "run.ckpt.partial").symlink_to(precious)

    result = run(tmp_path / "run.ckpt", callback=at_third_iteration(put_back))
    assert precious.read_text() == "mine"
    assert not result.warnings
