"""Units and descriptions go where the names go."""

import json
import pickle

import numpy as np
import pytest
from scipy import stats

import steinbox as sb
from steinbox.plotting import corner

UNITS = {"mass": "kg", "price": "$", "ratio": "1"}
DESCRIPTIONS = {"mass": "of the star & its <planets>", "ratio": "mass over price"}
SETTINGS = {"num_particles": 50, "max_evals": 500, "seed": 0}


def log_likelihood(p):
    return -0.5 * (p["mass"] - 1) ** 2, {"ratio": p["mass"] / p["price"]}


MODEL = sb.Model(
    log_likelihood,
    prior={"mass": stats.norm(0, 3), "price": stats.norm(5, 1), "age": stats.norm()},
    units=UNITS,
    descriptions=DESCRIPTIONS,
)


@pytest.fixture(scope="module")
def result():
    return sb.sample(MODEL, **SETTINGS)


def test_the_table_has_them(result):
    header, *rows = str(result.summary()).splitlines()
    assert header.split()[0] == "parameter"
    assert [row.split("  ")[0] for row in rows[:3]] == ["mass [kg]", "price [$]", "age"]
    assert [row.split()[0] for row in rows[3:5]] == ["log_likelihood", "ratio"]
    assert rows[5] == "Derived quantities: log_likelihood, ratio."
    assert rows[6] == "mass: of the star & its <planets>"
    html = result.summary()._repr_html_()
    assert "<td>mass [kg]</td>" in html
    assert "<p>mass: of the star &amp; its &lt;planets&gt;</p>" in html
    assert result.labels == ("mass [kg]", "price [$]", "age")


def test_they_are_saved_and_loaded(result, tmp_path):
    loaded = sb.Result.load(result.save(tmp_path / "run.npz"))
    assert (loaded.units, loaded.descriptions) == (UNITS, DESCRIPTIONS)


def test_a_file_of_the_format_before_units_is_still_read(result, tmp_path):
    with np.load(result.save(tmp_path / "run.npz")) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header")))
    assert header.pop("units") == UNITS
    del header["descriptions"]
    old = tmp_path / "old.npz"
    np.savez(old, header=np.array(json.dumps(header | {"format": "steinbox-result-6"})), **arrays)
    loaded = sb.Result.load(old)
    assert (loaded.units, loaded.descriptions) == ({}, {})
    np.testing.assert_array_equal(loaded.particles, result.particles)


def test_the_dataframe_has_them_as_attributes(result):
    pytest.importorskip("pandas", reason="the [pandas] extra is not installed")
    assert result.to_dataframe().attrs == {"units": UNITS, "descriptions": DESCRIPTIONS}


def test_arviz_and_netcdf_have_them_as_the_cf_conventions_say(result, tmp_path):
    xarray = pytest.importorskip("xarray", reason="the [netcdf] extra is not installed")
    pytest.importorskip("arviz", reason="the [arviz] extra is not installed")
    pytest.importorskip("h5netcdf", reason="the [netcdf] extra is not installed")
    expected = {"units": "kg", "long_name": DESCRIPTIONS["mass"]}
    data = result.to_arviz()
    assert data["posterior"]["mass"].attrs == data["pool"]["mass"].attrs == expected
    assert data["posterior"]["ratio"].attrs == {"units": "1", "long_name": "mass over price"}
    assert data["posterior"]["age"].attrs == {}
    with xarray.open_dataset(result.save(tmp_path / "run.nc"), group="posterior", engine="h5netcdf") as posterior:
        assert posterior["mass"].attrs == expected


def test_plots_and_comparisons_have_them(result):
    pytest.importorskip("matplotlib", reason="the [plot] extra is not installed")
    labels = [axes.get_xlabel() for axes in corner(result).axes]
    assert [label for label in labels if label] == ["mass [kg]", r"price [\$]", "age"]
    other = sb.sample(MODEL, **{**SETTINGS, "seed": 1})
    assert sb.compare([result, other]).columns[3:6] == ("mass [kg]", "price [$]", "age")


def test_a_plain_function_may_have_them_too_and_a_call_adds_to_those_of_a_model():
    plain = sb.sample(
        lambda x: -0.5 * x[0] ** 2, sb.Gaussian([0.0], std=2.0), names=["v"], units={"v": "m/s"}, **SETTINGS
    )
    assert plain.labels == ("v [m/s]",)
    added = sb.sample(MODEL, units={"mass": "g", "age": "years"}, **SETTINGS)
    assert added.units == UNITS | {"mass": "g", "age": "years"}
    assert added.descriptions == DESCRIPTIONS


def test_a_checkpoint_does_not_depend_on_them(tmp_path, result):
    first = sb.sample(MODEL, checkpoint=tmp_path / "run.ckpt", **SETTINGS)
    again = sb.sample(MODEL, checkpoint=tmp_path / "run.ckpt", units={"mass": "g"}, **SETTINGS)
    np.testing.assert_array_equal(first.particles, again.particles)
    assert again.units["mass"] == "g"


def test_a_model_with_units_can_be_sent_to_processes():
    assert pickle.loads(pickle.dumps(MODEL)).units == UNITS


def test_a_name_that_there_is_not_is_asked_about():
    result = sb.sample(MODEL, units={"mas": "kg"}, fixed={"age": 3.0}, descriptions={"age": "held"}, **SETTINGS)
    asked = [warning for warning in result.warnings if "misspelled" in warning]
    assert asked == [
        "units= names 'mas', which is neither a parameter nor a derived quantity; there are age, log_likelihood, mass, "
        "price, ratio. Is it misspelled?"
    ]


@pytest.mark.parametrize("given", ["kg", ["kg", "m"], {"mass": 3}, {3: "kg"}])
@pytest.mark.parametrize("argument", ["units", "descriptions"])
def test_what_is_no_mapping_of_texts_is_refused(argument, given):
    with pytest.raises(TypeError, match=f"expected {argument} to be a dictionary of text by name, such as"):
        sb.Model(log_likelihood, prior={"mass": stats.norm()}, **{argument: given})
    with pytest.raises(TypeError, match=f"expected {argument} to be a dictionary of text by name, such as"):
        sb.sample(lambda x: 0.0, sb.Gaussian([0.0], std=1.0), **{argument: given})
