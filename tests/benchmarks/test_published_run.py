"""The runner and the tables of the published suites."""

import sys

import numpy as np
import pytest
import report
import run
from case import Case
from goals import COVERAGE, at_most, coverage_goal, cube_goal
from methods import Counted, exact, find_method, run_steinbox
from rows import Cell, cells_of, median_interval, read
from scipy import stats
from suites import cases_of


@pytest.fixture
def normal():
    """N(1, ½) in two dimensions: the likelihood exp −½(x − 2)² and a prior N(0, 1)."""

    def sample(num_points, rng):
        return 1 + np.sqrt(0.5) * rng.standard_normal((num_points, 2))

    log_evidence = 2 * (stats.norm.logpdf(2, 0, np.sqrt(2)) + 0.5 * np.log(2 * np.pi))
    return Case(
        "normal",
        lambda x: -0.5 * ((x - 2) ** 2).sum(axis=1),
        [stats.norm(), stats.norm()],
        log_evidence,
        sample,
        (500,),
        None,
    )


def row(case="ring", method="default", budget=2_000, seed=0, error="", used=None, **numbers):
    measured = {"log_z_error": 0.1, "log_z_claimed": 0.1, "log_z_score": 1.0, "mmtv": 0.2, "gskl": 0.3}
    texts = {name: str(value) for name, value in {**measured, **numbers}.items()}
    rest = dict.fromkeys(run.COLUMNS, "0.5") | texts
    return rest | {
        "suite": "stacking",
        "case": case,
        "method": method,
        "budget": str(budget),
        "seed": str(seed),
        "error": error,
        "warnings": "1",
        "evaluations": str(used or budget),
    }


def test_the_default_is_told_the_prior_and_its_answer_is_close(normal):
    log_likelihood = Counted(normal, 0)
    answer = run_steinbox(normal, log_likelihood, 500, 0)
    assert answer.log_evidence == pytest.approx(normal.log_evidence, abs=0.05)
    assert answer.weights @ answer.points == pytest.approx([1, 1], abs=0.1)
    assert 0 < log_likelihood.num_evals <= 502  # two are made again at the end, to see whether values stay the same


def test_points_are_counted_and_noise_is_reproducible(normal):
    noisy = cases_of("stacking")["ring, noise"]
    points = np.zeros((1_000, 2))
    one, two = Counted(noisy, 3), Counted(noisy, 3)
    values = one(points)
    assert np.array_equal(values, two(points))
    assert one.num_evals == 1_000
    assert values.std() == pytest.approx(3.0, rel=0.1)
    assert np.array_equal(Counted(normal, 3)(points), normal.log_likelihood(points))


def test_exact_draws_are_as_many_as_the_budget_and_claim_nothing(normal):
    answer = exact(normal, Counted(normal, 0), 300, 0)
    assert len(answer.points) == 300
    assert np.isnan(answer.log_evidence)
    with pytest.raises(ValueError, match="reference"):
        exact(cases_of("regression")["lotka-volterra"], None, 300, 0)


def test_a_peer_is_a_module_on_the_path(tmp_path, monkeypatch):
    (tmp_path / "with_nothing.py").write_text("def run(case, log_likelihood, budget, seed):\n    return 'an answer'\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert find_method("nothing")(None, None, 1, 0) == "an answer"


def test_rows_that_are_there_are_not_run_again(tmp_path, monkeypatch, capsys):
    arguments = ["run.py", "--suites", "stacking", "--cases", "mixture", "--method", "exact", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--seeds", "1"])
    run.main()
    first = read(tmp_path / "stacking.csv")
    assert [(each["budget"], each["seed"], each["error"]) for each in first] == [
        ("2000", "0", ""),  # the published one first
        ("1000", "0", ""),
        ("4000", "0", ""),
    ]
    assert all(each["version"].startswith("steinbox ") and each["date"] for each in first)
    monkeypatch.setattr(sys, "argv", [*arguments, "--seeds", "2", "--num-budgets", "1"])
    run.main()
    assert "1 runs to do, 3 done before" in capsys.readouterr().out
    assert read(tmp_path / "stacking.csv")[:3] == first


def test_a_run_that_fails_has_a_row_that_says_why():
    made = run.run_task(run.Task("regression", "lotka-volterra", "exact", 100, 0))
    assert made["error"] == "ValueError: no draws but those of the reference itself"


def test_interval_of_a_median_is_of_order_statistics():
    assert median_interval(np.arange(10.0)) == (1.0, 8.0)  # 98%; the third and the eighth would have 89%
    assert median_interval(np.arange(5.0)) == (0.0, 4.0)  # 94%
    assert median_interval(np.array([3.0])) == (3.0, 3.0)


def test_interval_of_a_median_covers_it_as_often_as_it_says(rng):
    intervals = [median_interval(values) for values in rng.standard_normal((2_000, 12))]
    expected = 1 - 2 * stats.binom.cdf(2, 12, 0.5)
    assert expected >= 0.9
    assert np.mean([low < 0 < high for low, high in intervals]) == pytest.approx(expected, abs=0.02)


def test_measured_and_printed_lines():
    cells = cells_of([row(log_z_error=error, log_z_score=10 * error) for error in (-0.1, 0.3, -0.2)])
    printed = [
        {"suite": "stacking", "case": "ring", "method": "other", "budget": "200", "note": "doubtful"}
        | {"log_z_error": "1.4", "mmtv": ".54", "gskl": "13"}
    ]
    lines = list(report.suite_table(cells, printed, "stacking"))[2:]
    assert lines == [
        "| ring | **steinbox, default** | 2,000 | 0.2 [0.1, 0.3] | 0.2 [0.2, 0.2] | 0.3 [0.3, 0.3] | 1 of 3 | 3 | 3 |",
        "| ring | other (doubtful) | 200 | 1.4 | 0.54 | 13 | | | *printed* |",
    ]
    assert list(report.suite_table(cells, printed, "vbmc"))[2:] == lines[:1]


def test_evaluations_that_were_not_used_are_said():
    (line,) = list(report.suite_table(cells_of([row(used=1_500)]), [], "stacking"))[2:]
    assert "| 2,000 (used 1,500) |" in line


def test_a_method_that_never_ended_gives_its_reason():
    (line,) = list(report.suite_table(cells_of([row(error="ValueError: no")]), [], "stacking"))[2:]
    assert "not run: ValueError: no" in line


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [(0.3, "yes"), (0.2, "yes, within chance"), (0.19, "**no**, within chance"), (0.09, "**no**")],
)
def test_goals_compare_medians_and_their_intervals_with_limits(limit, verdict):
    cells = cells_of([row(mmtv=value) for value in (0.1, 0.2, 0.3)])
    goal = at_most("", "ring", 2_000, cells, {"mmtv": limit})
    assert str(goal).endswith(f"| 3 | 0.2 | {limit:.3g} | {verdict} |")


def test_a_goal_without_runs_says_so():
    assert "| not run yet |" in str(at_most("", "ring", 2_000, {}, {"mmtv": 0.2}))
    one = cells_of([row(case="funnel-20", budget=20_000)])
    assert "| too few runs |" in str(cube_goal("funnel-20", 20_000, one))


@pytest.mark.parametrize(
    ("errors", "claimed", "is_met"),
    [((0.0, 0.01, -0.01), 0.01, True), ((0.03, 0.04, 0.02), 0.01, False), ((-0.1, 0.0, 0.1), 1.0, False)],
)
def test_the_cubes_goal_is_of_spread_and_claimed_errors(errors, claimed, is_met):
    rows = [row(log_z_error=error, log_z_score=error / claimed) for error in errors]
    goal = cube_goal("ring", 2_000, cells_of(rows))
    assert goal.is_met is is_met
    assert goal.is_certain is not is_met  # three runs are few


def test_coverage_counts_scores_within_a_normals_90_percent():
    cell = Cell(tuple(row(log_z_score=score) for score in (-1.6, 1.6, 0.0, 5.0, -1.7)), ())
    goal = coverage_goal("all", [cell])
    assert goal.measured == "3 of 5, 60%"
    assert goal.is_met is (COVERAGE[0] <= 0.6 <= COVERAGE[1])


def test_runs_that_are_wrong_are_counted_with_those_that_warned():
    rows = [row(mean_worst=error) | {"warnings": num} for error, num in ((0.9, "0"), (0.6, "2"), (0.1, "0"))]
    (line,) = list(report.units_table(cells_of(rows)))[2:]
    assert line.startswith("| ring | **steinbox, default** | 2,000 | 0.6 / 0.5 | 0.5 / 0.5 | 0.5 / 0.5 |")
    assert line.endswith("| 2 (1 warned) | 3 |")


def test_coverage_is_told_with_and_without_noise():
    cells = cells_of([row(log_z_score=0.1), row(case="ring, noise", log_z_score=9.0), row(method="exact")])
    assert list(report.coverage_table({"stacking": cells}))[2:] == [
        "| stacking | 1 of 1, 100% |",
        "| stacking, with noise | 0 of 1, 0% |",
    ]


def test_tables_are_those_of_the_rows():
    """What is on the page is what report.py makes of the CSV files."""
    for name, lines in report.tables(report.RESULTS / "published").items():
        assert (report.RESULTS / f"published_{name}.md").read_text() == "\n".join(lines) + "\n", name
