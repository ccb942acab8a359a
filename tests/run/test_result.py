"""Results: saved without loss, loaded without running code, shown in words."""

import dataclasses
import io
import json
import pickle

import numpy as np
import pytest

import steinbox as sb
from steinbox.common import serialization


@pytest.fixture(scope="module")
def result():
    return sb.sample(
        lambda x: -0.5 * float(x @ x) if x[0] < 5 else np.nan,
        sb.Gaussian([0, 0], std=3),
        num_particles=30,
        max_evals=300,
        names=["a [b]x[/b]", "../etc/$y$"],
        seed=4,
    )


def test_saving_and_loading_loses_nothing(result, tmp_path):
    loaded = sb.Result.load(result.save(tmp_path / "any name"))
    for field in dataclasses.fields(sb.Result):
        ours, theirs = getattr(result, field.name), getattr(loaded, field.name)
        if field.name == "archive":
            ours, theirs = vars(ours), vars(theirs)
        if field.name == "mixture":
            ours, theirs = ours.log_prob(result.particles), theirs.log_prob(result.particles)
        if field.name in ("archive", "trace"):
            assert ours.keys() == theirs.keys()
            for name in ours:
                np.testing.assert_array_equal(ours[name], theirs[name])
        else:
            np.testing.assert_array_equal(ours, theirs)
    assert loaded.status is result.status
    assert list(tmp_path.iterdir()) == [tmp_path / "any name"]


def test_loading_refuses_other_files_in_words(tmp_path):
    text = tmp_path / "text.npz"
    text.write_text("not a result")
    other = tmp_path / "other.npz"
    np.savez(other, x=np.zeros(3))
    for path, why in ((text, "it is no .npz file"), (other, "")):
        with pytest.raises(ValueError, match=f"is not a result that steinbox saved.*{why}"):
            sb.Result.load(path)
    with pytest.raises(FileNotFoundError):
        sb.Result.load(tmp_path / "nothing")


def rewrite_header(path, **changes):
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays["header"])) | changes
    np.savez(path, **arrays | {"header": np.array(json.dumps(header))})


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (3, r"result.npz was written by an earlier, unreleased version of steinbox \(format 3\); this version reads"),
        (99, r"result.npz was written by a newer version of steinbox \(format 99\); .*upgrade steinbox to read it"),
    ],
)
def test_a_file_of_another_format_says_what_to_do(result, number, message, tmp_path):
    path = result.save(tmp_path / "result.npz")
    rewrite_header(path, format=f"steinbox-result-{number}")
    with pytest.raises(ValueError, match=message):
        sb.Result.load(path)


def test_a_result_that_was_saved_before_a_rename(result, tmp_path, monkeypatch):
    path = result.save(tmp_path / "result.npz")
    old = type(result.mixture)
    new = dataclasses.dataclass(frozen=True, eq=False)(type("Renamed", (old,), {"__module__": "somewhere.new"}))
    name = serialization._NAMES[old]
    monkeypatch.setitem(serialization.CLASSES, name, new)
    mixture = sb.Result.load(path).mixture
    assert type(mixture) is new
    np.testing.assert_array_equal(mixture.log_prob(result.particles), result.mixture.log_prob(result.particles))
    monkeypatch.delitem(serialization.CLASSES, name)
    with pytest.raises(ValueError, match=f"result.npz cannot be loaded here: the file holds a '{name}'; register it"):
        sb.Result.load(path)


def test_loading_runs_no_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    buffer = io.BytesIO()
    np.savez(buffer, header=np.array(Evil(), dtype=object))
    path = tmp_path / "evil.npz"
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match="not a result"):
        sb.Result.load(path)
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ValueError, match="not a result"):
        sb.Result.load(path)
    assert not (tmp_path / "ran").exists()


def test_moments_and_summary_use_the_weights(result):
    weighted = dataclasses.replace(
        result, particles=np.array([[0.0, 1.0], [2.0, 1.5], [99.0, 99.0]]), weights=np.array([0.5, 0.5, 0.0])
    )
    np.testing.assert_allclose(weighted.mean, [1.0, 1.25])
    np.testing.assert_allclose(weighted.cov, [[1.0, 0.25], [0.25, 0.0625]])
    summary = weighted.summary()
    np.testing.assert_allclose(summary.sd, [1.0, 0.25])
    np.testing.assert_allclose(summary.quantiles[:, 0], [0, 0, 2])
    assert str(summary).splitlines()[0].split() == ["parameter", "mean", "sd", "5%", "50%", "95%"]
    assert str(summary).splitlines()[1].split()[-5:] == ["1", "1", "0", "0", "2"]


def test_repr_says_what_a_person_wants_to_know(result):
    text = repr(result)
    assert "30 particles in 2 dimensions" in text
    assert "300 evaluations" in text
    assert f"{result.num_failures} of them failed" in text
    assert "The budget of evaluations was spent" in text


def test_result_is_frozen(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.num_evals = 0


def test_status_is_a_sentence():
    for status in sb.Status:
        assert str(status).endswith(".")
    assert sb.Status.FINISHED.is_complete
    assert not sb.Status.INTERRUPTED.is_complete


def test_picture_of_hostile_names(result, tmp_path):
    plotting = pytest.importorskip("steinbox.plotting.particles")
    pytest.importorskip("matplotlib")
    plotting.plot_particles(result).savefig(tmp_path / "two.png")
    four = dataclasses.replace(result, particles=np.tile(result.particles, 2), names=("$", "a", "b", "c"))
    plotting.plot_particles(four).savefig(tmp_path / "four.png")
    assert (tmp_path / "two.png").stat().st_size > 5_000
    assert (tmp_path / "four.png").stat().st_size > 5_000


def test_to_arviz_has_the_particles_inside_the_support(result):
    pytest.importorskip("arviz_base", reason="the [arviz] extra is not installed")
    some_outside = dataclasses.replace(result, weights=np.where(np.arange(30) < 5, 0, 1 / 25))
    tree = some_outside.to_arviz()
    np.testing.assert_array_equal(tree["posterior"]["a [b]x[_b]"][0], result.particles[5:, 0])
    np.testing.assert_array_equal(tree["sample_stats"]["lp"][0], result.log_prob[5:])
