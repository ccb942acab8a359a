"""A result for ArviZ and as netCDF."""

import dataclasses
import sys

import numpy as np
import pytest
from scipy import stats

import steinbox as sb

TARGET = sb.Gaussian([1.0, -2.0], std=[1.0, 0.5])


@pytest.fixture(scope="module")
def result():
    initial = sb.Gaussian([0, 0], std=4)
    settings = {"names": ["a", "b/c"], "vectorized": True, "num_particles": 50, "max_evals": 4_000, "seed": 1}
    return sb.sample(TARGET.log_prob, initial, **settings)


@pytest.fixture
def arviz():
    return pytest.importorskip("arviz", reason="the [arviz] extra is not installed")


@pytest.mark.filterwarnings("ignore")  # of ArviZ's own dependencies
def test_arviz_reads_it(result, arviz):
    data = result.to_arviz()
    is_old = arviz.__version__.startswith("0.")
    assert isinstance(data, arviz.InferenceData if is_old else __import__("xarray").DataTree)
    table = arviz.summary(data) if is_old else arviz.summary(data, round_to="none")
    np.testing.assert_allclose(table["mean"].astype(float), result.mean, atol=0.1)
    assert list(table.index) == ["a", "b_c"]
    sizes = table["ess_bulk"].astype(float).to_numpy()
    assert (sizes < 1.5 * result.effective_sample_size).all()
    assert (sizes > 0.6 * result.effective_sample_size).all()


def test_draws_are_as_many_as_the_pool_is_worth(result):
    pytest.importorskip("arviz", reason="the [arviz] extra is not installed")
    data = result.to_arviz()
    posterior, stats, pool = data["posterior"], data["sample_stats"], data["pool"]
    num_draws = posterior.sizes["draw"]
    assert num_draws == int(result.effective_sample_size) < len(result.pool)
    assert posterior.sizes["chain"] == 1
    np.testing.assert_allclose(posterior["a"].values.mean(), result.mean[0], atol=4 * result.mean_error[0])
    x = np.column_stack([posterior["a"].values[0], posterior["b_c"].values[0]])
    np.testing.assert_allclose(stats["lp"].values[0], TARGET.log_prob(x))
    rows = [int(np.flatnonzero(result.pool[:, 0] == each)[0]) for each in x[:20, 0]]
    assert rows != sorted(rows)  # in the order of the run they would look like a chain that has not arrived
    np.testing.assert_array_equal(pool["weight"].values, result.pool_weights)
    np.testing.assert_array_equal(pool["b_c"].values, result.pool[:, 1])
    assert data.attrs["effective_sample_size"] == result.effective_sample_size
    assert posterior.attrs["inference_library"] == "steinbox"
    assert result.to_arviz(num_draws=77)["posterior"].sizes["draw"] == 77


def test_particles_without_a_pool_are_the_draws():
    pytest.importorskip("arviz", reason="the [arviz] extra is not installed")
    moved = sb.sample(
        TARGET.log_prob,
        sb.Gaussian([0, 0], std=4),
        score=TARGET.score,
        vectorized=True,
        method=sb.SVGD(num_iterations=20),
        num_particles=30,
        seed=0,
    )
    draws = moved.to_arviz()["posterior"]["x0"].values[0]
    np.testing.assert_array_equal(np.sort(draws), np.sort(moved.particles[:, 0]))


def test_names_that_become_one_are_refused(result):
    pytest.importorskip("arviz", reason="the [arviz] extra is not installed")
    with pytest.raises(ValueError, match="expected names that differ when a slash is an underscore, got a/b, a_b"):
        dataclasses.replace(result, names=("a/b", "a_b")).to_arviz()


def test_plain_xarray_opens_the_netcdf_file(result, tmp_path):
    xarray = pytest.importorskip("xarray", reason="the [netcdf] extra is not installed")
    pytest.importorskip("h5netcdf", reason="the [netcdf] extra is not installed")
    pytest.importorskip("h5py", reason="the [netcdf] extra is not installed")
    path = result.save(tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == [path]
    with xarray.open_dataset(path, group="pool", engine="h5netcdf") as pool:
        np.testing.assert_array_equal(pool["a"].values, result.pool[:, 0])
        np.testing.assert_array_equal(pool["log_prob"].values, result.pool_log_prob)
    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        assert tree["posterior"].sizes["draw"] == int(result.effective_sample_size)
        assert tree.attrs["status"] == str(result.status)
        assert tree.attrs["log_evidence"] == result.log_evidence
    with pytest.raises(ValueError, match="run.nc is not a result that steinbox saved: it is not an .npz file"):
        sb.Result.load(path)


@pytest.mark.parametrize(
    ("missing", "call", "extra"),
    [
        (("arviz", "arviz_base"), lambda result, folder: result.to_arviz(), "arviz"),
        (("h5netcdf",), lambda result, folder: result.save(folder / "run.nc"), "netcdf"),
    ],
)
def test_a_missing_package_names_the_extra(result, missing, call, extra, tmp_path, monkeypatch):
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf'pip install "steinbox\[{extra}\]"'):
        call(result, tmp_path)


@pytest.fixture(scope="module")
def with_derived():
    def log_prob(x):
        squares = -0.5 * (x - np.array([1.0, -2.0])) ** 2
        return squares.sum(), {"ratio": x[0] / 2, "log_likelihood": squares}

    initial = sb.Gaussian([0, 0], std=4)
    return sb.sample(log_prob, initial, names=["a", "b"], num_particles=50, max_evals=1_000, seed=1)


def test_derived_quantities_are_columns_of_the_table(with_derived):
    pytest.importorskip("pandas", reason="the [pandas] extra is not installed")
    for pool in (False, True):
        table = with_derived.to_dataframe(pool=pool)
        assert list(table.columns) == ["a", "b", "ratio", "weight", "log_prob"]
        np.testing.assert_allclose(table["ratio"], table["a"] / 2)


def test_a_likelihood_that_is_one_number_is_not_taken_for_one_observation():
    pytest.importorskip("arviz", reason="the [arviz] extra is not installed")
    model = sb.Model(lambda p: -0.5 * p["a"] ** 2, prior={"a": stats.norm(0, 2)})
    data = sb.sample(model, num_particles=50, max_evals=500, seed=0).to_arviz()
    assert "log_likelihood" in data["posterior"]
    groups = data.groups() if callable(data.groups) else data.groups
    assert not any(group.strip("/") == "log_likelihood" for group in groups)


def test_arviz_has_the_derived_quantities_and_the_likelihood_of_every_observation(with_derived):
    pytest.importorskip("arviz", reason="the [arviz] extra is not installed")
    data = with_derived.to_arviz()
    np.testing.assert_allclose(data["posterior"]["ratio"].values, data["posterior"]["a"].values / 2)
    assert "log_likelihood" not in data["posterior"]
    likelihood = data["log_likelihood"]["log_likelihood"]
    assert likelihood.dims == ("chain", "draw", "log_likelihood_dim_0")
    np.testing.assert_allclose(likelihood.values[0].sum(axis=1), data["sample_stats"]["lp"].values[0])


def test_the_prior_of_a_model_is_a_group(tmp_path):
    pytest.importorskip("arviz", reason="the [arviz] extra is not installed")
    model = sb.Model(lambda p: -((p["b/c"] - p["a"]) ** 2), prior={"b/c": stats.norm(5, 1), "a": stats.expon()})
    result = sb.sample(model, max_evals=400, num_particles=20, units={"a": "m"}, seed=0)
    for each in (result, sb.Result.load(result.save(tmp_path / "run.npz"))):
        prior = each.to_arviz()["prior"]
        np.testing.assert_array_equal(prior["b_c"].values[0], each.prior_draws[:, 0])
        assert prior["a"].attrs["units"] == "m"
    assert result.prior_draws[:, 0].mean() == pytest.approx(5, abs=4 / np.sqrt(len(result.prior_draws)))
    assert sb.sample(lambda x: -x @ x, sb.Gaussian([0.0], std=1.0), max_evals=100, seed=0).prior_draws is None
