"""Error against cost: the arithmetic on curves whose answer is known, and the cases that are measured."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from arithmetic import Curve, in_batches, one_by_one
from cost_report import curves_of, errors_after, measured_table, table, verdict
from rows import cells_of

PUBLISHED = Path(__file__).parent.parent.parent / "benchmarks" / "published"
EVALS = np.array([100.0, 1_000.0, 10_000.0])


def curve(can_go_on=True, own=1e-3, speedup=lambda num_workers, _: num_workers):
    """The error is one over the root of the evaluations, each of which takes the method a millisecond."""
    return Curve(EVALS, EVALS**-0.5, own * EVALS, speedup, can_go_on)


def test_time_buys_evaluations_and_workers_share_them():
    times = np.array([0.5, 20.0, 3_600.0])
    for cost, num_workers in ((0.0, 1), (0.01, 1), (0.01, 8)):
        num_evals = times / (1e-3 + cost / num_workers)
        expected = np.where(num_evals < 100, np.inf, num_evals**-0.5)
        assert curve().errors_after(times, cost, num_workers) == pytest.approx(expected, rel=0.02)


def test_what_cannot_go_on_keeps_its_last_value():
    assert curve(can_go_on=False).errors_after(np.array([1e6]), 0.01, 1) == pytest.approx([0.01])


def test_more_evaluations_never_make_it_worse():
    worse = Curve(EVALS, np.array([0.1, 0.3, 0.2]), 1e-3 * EVALS, one_by_one, can_go_on=False)
    assert worse.errors_after(np.array([0.2, 1.5, 100.0]), 0.0, 1) == pytest.approx([0.1] * 3)


def test_batches_use_no_more_workers_than_they_have_calls():
    speedup = in_batches(lambda _: 16)
    assert [speedup(workers, EVALS) for workers in (1, 2, 5, 16, 128)] == [1, 2, 4, 16, 16]


def test_the_defaults_workers_are_busy_as_measured():
    found = np.array([one_by_one(workers, EVALS) for workers in (1, 2, 8, 16, 128)])
    assert np.all(np.diff(found) > 0)
    assert np.all(found <= [1, 2, 8, 16, 128])
    assert found[0] == 1
    assert one_by_one(32, EVALS) == pytest.approx(0.93 * 32)


def row(method, budget, mean, case="a", seed=0, error=""):
    numbers = {"mean_worst": str(mean), "sd_worst": "0", "cpu_seconds": str(1e-3 * budget), "density_seconds": "0"}
    rest = {"case": case, "method": method, "budget": str(budget), "seed": str(seed), "error": error}
    return {**numbers, **rest, "evaluations": str(budget)}


def test_tables_have_medians_over_problems_and_leave_out_what_failed():
    rows = [
        row("emcee", budget, budget**-0.5 * factor, case)
        for budget in (1_000, 10_000)
        for case, factor in (("a", 1), ("b", 2), ("c", 30))
    ]
    rows += [row("smc", 1_000, 0.5), row("smc", 10_000, 0.1, error="BudgetSpent: no end")]
    cells = cells_of(rows)
    curves = curves_of(cells)
    assert list(curves["smc"]["a"].evals) == [1_000]
    errors = errors_after(curves, ["a", "b", "c"], 0.0, 1)
    assert np.isinf(errors["smc"]).all()  # on one problem of three
    assert errors["emcee"][-1] == pytest.approx(2 * (2 * 86_400e3) ** -0.5, rel=0.02)
    assert len(list(table(curves, ["a", "b", "c"]))) == 2 + 1 + 3 * 3
    lines = "\n".join(measured_table(cells, ["a", "b", "c"]))
    assert "| 0.063 / 1 s | 0.02 / 10 s |" in lines
    assert "all failed, 1 problems" in lines


def test_a_verdict_names_all_that_are_as_good_and_the_next():
    said = verdict({"emcee": 0.1, "smc": 0.105, "emcee_256": 0.2, "all evaluations": np.inf})
    assert said == "**emcee, 32 walkers, SMC** 0.1; emcee, 256 walkers 0.2"
    assert verdict({"emcee": np.inf}) == "too short for any"


CHECK = """
import numpy as np
from suites import cases_of

cases = cases_of("cost")
assert len(cases) == 13
for name, case in cases.items():
    draws, (mean, cov) = case.sample(20_000, np.random.default_rng(0)), case.moments
    assert np.isfinite(case.log_joint(draws[:10])).all()
    if "funnel" not in name:  # next to no draws have most of its variance
        sd = np.sqrt(np.diag(cov))
        assert np.abs((draws.mean(axis=0) - mean) / sd).max() < 0.04, name
        assert np.abs(draws.std(axis=0) / sd - 1).max() < 0.2, name  # some tails are heavy
"""


def test_moments_of_the_cases_are_those_of_their_draws():
    """In a process of its own: their module has the name of one of the tests'."""
    subprocess.run([sys.executable, "-c", CHECK], cwd=PUBLISHED, check=True)
