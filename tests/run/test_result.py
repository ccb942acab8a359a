"""Results: saved without loss, loaded without running code, shown in words."""

import dataclasses
import io
import json
import pickle
import sys

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
    loaded = sb.Result.load(result.save(tmp_path / "any name.npz"))
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
    assert list(tmp_path.iterdir()) == [tmp_path / "any name.npz"]


def test_loading_refuses_other_files_in_words(tmp_path):
    text = tmp_path / "text.npz"
    text.write_text("not a result")
    other = tmp_path / "other.npz"
    np.savez(other, x=np.zeros(3))
    for path, why in ((text, "it is not an .npz file"), (other, "")):
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


@pytest.fixture
def weighted(result):
    """Three points of a pool, of which one has no weight."""
    pool, weights = np.array([[0.0, 1.0], [2.0, 1.5], [99.0, 99.0]]), np.array([0.5, 0.5, 0.0])
    return dataclasses.replace(result, pool=pool, pool_weights=weights, pool_log_prob=np.array([-1.0, -2.0, -np.inf]))


def test_moments_and_summary_are_of_the_weighted_pool(weighted):
    np.testing.assert_allclose(weighted.mean, [1.0, 1.25])
    np.testing.assert_allclose(weighted.mean_error, np.array([1.0, 0.25]) / np.sqrt(2))
    np.testing.assert_allclose(weighted.cov, [[1.0, 0.25], [0.25, 0.0625]])
    np.testing.assert_allclose(weighted.cov_error, 0, atol=1e-12)  # c_j c_k is the same at both points
    np.testing.assert_allclose(weighted.quantile([0.05, 0.95]).value, [[0.0, 1.0], [2.0, 1.5]])
    assert weighted.expectation(lambda x: x[0] * x[1]).value == pytest.approx(1.5)
    assert weighted.expectation(lambda x: x[:, 0] * x[:, 1], vectorized=True).error == pytest.approx(1.5 / np.sqrt(2))
    summary = weighted.summary()
    np.testing.assert_allclose(summary.sd, [1.0, 0.25])
    np.testing.assert_allclose(summary.mcse, weighted.mean_error)
    np.testing.assert_allclose(summary.effective_sample_size, 2)


def test_the_numbers_of_an_angle_go_around():
    result = sb.sample(
        lambda x: 8 * np.cos(x[0] - 0.1), None, bounds=[sb.Periodic(0, 2 * np.pi)], max_evals=3_000, seed=0
    )
    low, high = result.quantile([0.25, 0.75]).value[:, 0]
    assert abs((result.mean[0] - 0.1 + np.pi) % (2 * np.pi) - np.pi) < 5 * result.mean_error[0] < 0.1
    assert low > 6.0  # below zero, and so from the other end
    assert 0.2 < high < 0.5
    assert result.cov[0, 0] == pytest.approx(1 / 8, rel=0.2)  # of a von Mises distribution, nearly 1 / concentration


def test_particles_by_name_and_number(result):
    assert len(result) == 30
    np.testing.assert_array_equal(result["../etc/$y$"], result.particles[:, 1])
    with pytest.raises(KeyError, match="expected the name of a parameter, one of .*; got 'z'"):
        result["z"]
    with pytest.raises(TypeError, match="not iterable"):
        iter(result)


def test_draws_come_by_weight(weighted):
    draws = weighted.draws(1000, rng=0)
    assert draws.shape == (1000, 2)
    assert draws.max() == 2.0
    assert 450 < (draws[:, 0] == 0).sum() < 550
    np.testing.assert_array_equal(draws, weighted.draws(1000, rng=0))
    with pytest.raises(ValueError, match="expected num_draws to be a whole number of at least 1, got 0"):
        weighted.draws(0)


def test_numbers_of_a_run_without_weight_are_nan(result):
    lost = dataclasses.replace(result, pool_weights=np.zeros(len(result.pool)))
    assert np.isnan(lost.mean).all()
    assert "nan" in str(lost.summary())


def test_to_dataframe(weighted, monkeypatch):
    pytest.importorskip("pandas", reason="the [pandas] extra is not installed")
    particles = weighted.to_dataframe()
    assert list(particles.columns) == [*weighted.names, "weight", "log_prob"]
    np.testing.assert_array_equal(particles.to_numpy()[:, :2], weighted.particles)
    np.testing.assert_array_equal(particles["log_prob"], weighted.log_prob)
    pool = weighted.to_dataframe(pool=True)
    np.testing.assert_array_equal(pool["weight"], weighted.pool_weights)
    np.testing.assert_array_equal(pool["log_prob"], weighted.pool_log_prob)
    with pytest.raises(ValueError, match="expected no parameter of the name 'weight'"):
        dataclasses.replace(weighted, names=("weight", "b")).to_dataframe()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'to_dataframe\(\) needs pandas: pip install "steinbox\[pandas\]"'):
        weighted.to_dataframe()


def test_the_pool_has_the_log_densities_of_its_points(result):
    inside = np.isfinite(result.pool_log_prob)
    np.testing.assert_allclose(result.pool_log_prob[inside], -0.5 * (result.pool[inside] ** 2).sum(axis=1))


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
    plotting = pytest.importorskip("steinbox.plotting")
    pytest.importorskip("matplotlib")
    plotting.corner(result).savefig(tmp_path / "two.png")
    four = dataclasses.replace(
        result, particles=np.tile(result.particles, 2), pool=np.tile(result.pool, 2), names=("$", "a", "b", "c")
    )
    plotting.corner(four).savefig(tmp_path / "four.png")
    assert (tmp_path / "two.png").stat().st_size > 5_000
    assert (tmp_path / "four.png").stat().st_size > 5_000


@pytest.mark.parametrize("name", ["run", "run.pkl", "run.h5", "run.NPZ"])
def test_other_endings_are_refused_in_words(result, name, tmp_path):
    with pytest.raises(ValueError, match=rf"ends in .npz \(everything.*\) or .nc \(netCDF.*\), got '{name}'"):
        result.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
