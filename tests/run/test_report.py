"""A report of any result: what it says, and that it stays small."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from implementations import SAMPLERS

import steinbox as sb
from steinbox.report import Level
from steinbox.run.record import Record
from steinbox.run.report import collect
from steinbox.run.verdict import judge

TARGET = sb.targets.Banana()
START = sb.Gaussian([0, 0], std=3)


def run(**settings):
    given = {"vectorized": True, "num_particles": 60, "max_evals": 1500, "names": ["left", "right"], "seed": 0}
    return sb.sample(TARGET.log_prob, START, **given | settings)


@pytest.fixture(scope="module")
def result():
    return run()


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_method_has_a_report(name, tmp_path):
    result = run(method=SAMPLERS[name], score=TARGET.score, num_particles=20, max_evals=300)
    page = result.report(tmp_path / "run.html").read_text(encoding="utf-8")
    data = data_of(page)
    assert type(SAMPLERS[name]).__name__ in page
    assert data["cloud"]["labels"] == ["left", "right"]
    numeric = {key for key, values in result.trace.items() if values.dtype.kind in "fi" and np.isfinite(values).any()}
    assert {curve["name"] for curve in data["curves"]} == numeric
    assert len(data["way"]["num_evals"]) > 10
    assert data["way"]["end"][-1] == len(data["way"]["points"][0])


@pytest.mark.parametrize("dimension", [1, 50])
def test_few_and_many_parameters(dimension, tmp_path):
    target = sb.Gaussian(np.zeros(dimension), std=1.0)
    start = sb.Gaussian(np.ones(dimension), std=2.0)
    result = sb.sample(
        target.log_prob,
        start,
        vectorized=True,
        method=sb.SVGD(num_iterations=5),
        score=target.score,
        num_particles=60,
        seed=0,
    )
    data = data_of(result.report(tmp_path / "run.html").read_text(encoding="utf-8"))
    assert len(data["cloud"]["draws"]) == len(data["way"]["points"]) == dimension


def test_bounds_constants_derived_quantities_and_failures_are_shown(tmp_path):
    def log_prob(p):
        if p["rate"] > 2.5:
            raise RuntimeError("diverged <b>")
        return -0.5 * (p["rate"] - p["n"]) ** 2, {"double": 2 * p["rate"], "curve": np.ones(3)}

    settings = {"bounds": {"rate": (0, 4), "angle": sb.Periodic(0, 1)}, "fixed": {"n": 1.0}, "max_failure_rate": 1.0}
    names = ["rate", "angle", "n"]
    result = sb.sample(log_prob, names=names, by_name=True, max_evals=600, num_particles=50, seed=0, **settings)
    content = collect(result)
    assert list(content.cloud.labels) == ["rate", "angle", "double"]
    np.testing.assert_allclose(content.cloud.draws[:, 2], 2 * content.cloud.draws[:, 0])
    rows = {row[0]: row for row in content.summary.rows}
    assert float(rows["double"][1]) == pytest.approx(2 * float(rows["rate"][1]), rel=2e-3)
    assert float(rows["double"][2]) == pytest.approx(2 * float(rows["rate"][2]), rel=0.1)
    assert content.cloud.low[0] >= 0
    assert content.cloud.high[1] <= 1
    (fault,) = content.faults
    assert (fault.kind, fault.count) == ("exception", result.num_failures)
    assert "rate = " in fault.point
    assert "raise RuntimeError" in fault.traceback
    page = result.report(tmp_path / "run.html").read_text(encoding="utf-8")
    assert "Fixed: n = 1.0." in page
    assert "curve (3,)" in page
    assert "diverged &lt;b&gt;" in page
    assert "diverged <b>" not in page
    assert content.verdict.level is Level.CAUTION


def test_a_derived_quantity_of_few_values_has_the_error_of_its_points():
    def log_prob(x):
        return -0.5 * x[0] ** 2, {"positive": float(x[0] > 0)}

    result = sb.sample(log_prob, sb.Gaussian([0.0], std=2), num_particles=50, max_evals=1_000, seed=0)
    row = next(row for row in collect(result).summary.rows if row[0] == "positive")
    exact = result.expectation(lambda x: x[0] > 0)
    assert float(row[1]) == pytest.approx(exact.value, rel=1e-3)
    assert float(row[2]) == pytest.approx(exact.error, rel=0.05)


# -- the verdict -------------------------------------------------------------------------------------------------------


def levels(result):
    verdict = judge(result, result.diagnostics())
    return verdict.level, verdict


def test_a_good_run_is_said_to_be_good(result):
    level, verdict = levels(result)
    assert level is Level.GOOD
    assert verdict.headline == "No problems were found."
    assert len(verdict.advice) == 1  # another seed
    assert "effective draws" in dict(collect(result).facts)


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({"warnings": ("It moves.",)}, Level.CAUTION, "It moves."),
        ({"status": sb.Status.INTERRUPTED}, Level.CAUTION, "Interrupted"),
        ({"status": sb.Status.TOO_MANY_FAILURES}, Level.BAD, "max_failure_rate"),
        ({"effective_sample_size": 40.0}, Level.CAUTION, "amount to 40 independent draws"),
        ({"effective_sample_size": 5.0}, Level.BAD, "amount to 5 independent draws"),
        ({"effective_sample_size": 14.0, "warnings": ("Few.",)}, Level.BAD, "amount to 14 independent draws"),
        ({"pareto_shape": 0.9, "effective_sample_size": 80.0}, Level.CAUTION, "A few weights dominate"),
        ({"pareto_shape": 0.9, "effective_sample_size": 800.0}, Level.GOOD, "heavy tail"),
        ({"num_failures": 200}, Level.CAUTION, "200 of"),
        ({"num_failures": 1}, Level.GOOD, "1 of"),
        ({"coverage": None}, Level.GOOD, "There was no search for other modes"),
    ],
)
def test_what_speaks_against_a_run_is_said(result, changes, level, words):
    found, verdict = levels(replace(result, **changes))
    assert found is level
    assert any(words in finding.text for finding in verdict.findings)


def test_particles_that_have_not_arrived_are_not_called_good():
    moved = run(method=sb.AnnealedGFSVGD(num_iterations=5), max_evals=None)
    level, verdict = levels(moved)
    assert level is Level.CAUTION
    assert any("default method" in sentence for sentence in verdict.advice)
    content = collect(moved)
    assert "effective draws" not in dict(content.facts)  # which would be the number of particles
    assert any("rough estimates" in note for note in content.summary.notes)


def test_particles_that_cannot_be_judged_are_bad(result, tmp_path):
    same = replace(result, particles=np.repeat(result.particles[:1], 60, axis=0), log_prob=np.zeros(60))
    content = collect(same)
    assert content.verdict.level is Level.BAD
    assert "cannot be assessed" in content.diagnostics[0]
    assert same.report(tmp_path / "run.html").exists()


# -- the slider --------------------------------------------------------------------------------------------------------


def test_without_a_record_the_slider_goes_through_the_evaluations(result):
    way = collect(result).way
    assert way.num_evals[-1] == len(result.archive)
    np.testing.assert_array_equal(way.points[way.end[0] - 1], result.archive.points[way.num_evals[0] - 1])
    assert (np.diff(way.end) > 0).all()
    assert (way.begin == 0).all()


def test_a_record_has_its_moments_behind_the_slider(result):
    moments = np.arange(5 * 30 * 2, dtype=float).reshape(5, 30, 2)
    record = Record(5, True, np.arange(5) * 100, moments, np.ones((5, 30)), moments[..., 0])
    way = collect(replace(result, record=record)).way
    assert way.is_flow
    assert way.num_evals.tolist() == [0, 100, 200, 300, 400]
    np.testing.assert_array_equal(way.points[way.begin[3] : way.end[3]], moments[3])


# -- size, files -------------------------------------------------------------------------------------------------------


def test_a_large_pool_makes_a_small_page(result, tmp_path, rng):
    dimension, size = 30, 20_000
    pool, weights = rng.standard_normal((size, dimension)), rng.exponential(size=size)
    moments = rng.standard_normal((300, 200, dimension))
    record = Record(300, False, np.arange(300), moments, np.ones((300, 200)), np.zeros((300, 200)))
    large = replace(
        result,
        names=tuple(f"parameter {k}" for k in range(dimension)),
        pool=pool,
        pool_weights=weights / weights.sum(),
        pool_log_prob=-(pool**2).sum(axis=1),
        particles=pool[:1500],
        weights=np.full(1500, 1 / 1500),
        log_prob=-(pool[:1500] ** 2).sum(axis=1),
        archive=sb.Archive(pool, -(pool**2).sum(axis=1), np.zeros(size)),
        record=record,
    )
    assert large.report(tmp_path / "run.html").stat().st_size < 5_000_000


def test_a_name_of_another_kind_is_refused(result, tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.html, got 'run\.npz'"):
        result.report(tmp_path / "run.npz")


def test_a_loaded_result_has_the_same_report(result, tmp_path):
    again = sb.Result.load(result.save(tmp_path / "run.npz"))
    pages = [each.report(tmp_path / "run.html").read_text(encoding="utf-8") for each in (result, again)]
    assert pages[0] == pages[1]
