"""What peers share: the cap, the start as a prior, and sizes that fit the budget; and the tables with them."""

from pathlib import Path

import numpy as np
import pytest
from case import Case
from methods import Counted
from scipy import stats

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture
def peer(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS / "peers")
    import peer

    return peer


@pytest.fixture
def case():
    return Case(
        "normal",
        lambda x: -0.5 * (x**2).sum(axis=1),
        [stats.norm(1, 2), stats.norm(0, 3)],
        np.log(2 * np.pi),
        lambda num_points, rng: rng.standard_normal((num_points, 2)),
        (100,),
        None,
        has_prior=False,
    )


def test_no_evaluation_is_made_beyond_the_budget(peer, case):
    log_likelihood = Counted(case, 0)
    density = peer.Capped(case, log_likelihood, 10)
    density.log_prob(np.zeros((8, 2)))
    assert not density.is_spent
    with pytest.raises(peer.BudgetSpent, match="8 evaluations"):
        density.log_prob(np.zeros((3, 2)))
    assert density.is_spent
    assert log_likelihood.num_evals == 8


def test_prior_and_likelihood_multiply_to_the_density(peer, case, rng):
    density, points = peer.Capped(case, Counted(case, 0), 100), rng.standard_normal((4, 2))
    expected = stats.norm.logpdf(points, [1, 0], [2, 3]).sum(axis=1)
    assert density.log_prior(points) == pytest.approx(expected)
    assert density.log_ratio(points) + expected == pytest.approx(case.log_likelihood(points))
    assert density.one_log_ratio(points[0]) == pytest.approx(density.log_ratio(points)[0])
    cube = rng.random((4, 2))
    assert density.from_cube(cube) == pytest.approx(stats.norm.ppf(cube, [1, 0], [2, 3]))
    assert density.from_cube(cube[0]) == pytest.approx(density.from_cube(cube)[0])


def test_the_size_is_halved_until_the_method_ends(peer, case):
    sizes, log_likelihood = [], Counted(case, 0)

    def attempt(size, density):
        sizes.append(size)
        for _ in range(20):
            density.log_prob(np.zeros((size, 2)))
        return size

    assert peer.largest_that_fits(attempt, case, log_likelihood, 1_000, (400, 10)) == 50
    assert sizes == [50]
    sizes.clear()
    assert peer.largest_that_fits(attempt, case, log_likelihood, 999, (40, 10)) == 40
    assert log_likelihood.num_evals == 800
    sizes.clear()
    with pytest.raises(peer.BudgetSpent, match="smallest size, 10"):
        peer.largest_that_fits(attempt, case, log_likelihood, 199, (400, 10))


def test_an_error_that_is_not_the_budgets_is_not_hidden(peer, case):
    def attempt(size, density):
        raise ValueError("something else")

    with pytest.raises(ValueError, match="something else"):
        peer.largest_that_fits(attempt, case, Counted(case, 0), 1_000, (400, 10))


def test_every_peer_has_requirements_and_says_how_it_is_called(monkeypatch):
    import ast
    import importlib.util

    import posteriors

    spec = importlib.util.spec_from_file_location("peers_run", BENCHMARKS / "peers" / "run.py")
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    assert {path.parent.name for path in (BENCHMARKS / "peers").glob("*/requirements.txt")} == set(run.NAMES)
    assert set(run.ONE_BY_ONE) < set(run.NAMES)
    assert set(run.SLOW) < set(posteriors.NAMES)
    for name in run.NAMES:
        text = (BENCHMARKS / "peers" / name / f"with_{name}.py").read_text()
        assert "``" in ast.get_docstring(ast.parse(text))
        required = (BENCHMARKS / "peers" / name / "requirements.txt").read_text()
        packages = next(
            ast.literal_eval(node.value)
            for node in ast.parse(text).body
            if isinstance(node, ast.Assign) and node.targets[0].id == "PACKAGES"
        )
        assert all(f"{package}==" in required for package in packages)


def real_row(**numbers):
    usual = {"case": "weibull_lung", "method": "default", "budget": "20000", "seed": "0", "error": "", "warnings": "0"}
    rest = {"mmd_over_floor": "1", "sd_worst": "0.1", "cpu_seconds": "3", "density_seconds": "1"}
    return usual | rest | {name: str(value) for name, value in numbers.items()}


def test_tables_say_what_is_wrong_and_why_there_is_nothing():
    import real_report
    from rows import cells_of

    rows = [
        *[real_row(seed=seed, sd_worst=sd) for seed, sd in ((0, 0.1), (1, 0.2))],
        *[real_row(seed=seed, method="emcee") for seed in (0, 1)],
        *[real_row(seed=seed, method="zeus", error="no end after 60 s of processor time") for seed in (0, 1)],
    ]
    assert [real_report.is_wrong(row) for row in rows[:2]] == [False, True]
    assert real_report.is_wrong(real_row(mmd_over_floor=2.1))
    line = next(
        line for line in real_report.peer_table(cells_of(rows), ["default", "emcee", "zeus"]) if "weibull" in line
    )
    assert line == "| weibull_lung | 1 / 0.15 | **1 / 0.1** | no end after 60 s |"
    *_, own, emcee, zeus = real_report.summary_table(cells_of(rows), ["default", "emcee", "zeus"])
    assert own.startswith("| **steinbox** | 1 of 2 | 1 | 0 |")
    assert emcee.startswith("| emcee | 2 of 2 | 0 | 0 |")
    assert zeus.startswith("| zeus | 0 of 2 | 0 | 2 |")
    versions = [{"version": f"{each}jax 1, steinbox 2", "date": "a day"} for each in ("", "zeus 3, ")]
    assert real_report.versions(versions) == "`make bench-peers`, a day; jax 1, zeus 3."
    assert real_report.is_complete(rows[2:4], {0, 1})
    assert not real_report.is_complete([*rows[2:4], real_row(method="emcee", case="ode_lynx")], {0, 1})
    *_, left_out = real_report.left_out_table(rows, ["zeus"])
    assert left_out == "| zeus | 1 | 2 | 0 | 0 | no end after 60 s (2) |"
    assert real_report.reason("BudgetSpent: not at its end") == "no end within the budget"
    assert real_report.reason("ValueError: it: is") == "failed (ValueError)"


def test_the_tables_are_those_of_the_rows():
    import real_report

    for name, lines in real_report.tables(BENCHMARKS / "results" / "real").items():
        assert (BENCHMARKS / "results" / f"real_{name}.md").read_text() == "\n".join(lines) + "\n"


def test_no_run_is_there_twice():
    import real_report
    from rows import read

    rows = read(real_report.RESULTS / "real" / "real.csv")
    keys = [tuple(row[name] for name in ("case", "method", "budget", "seed")) for row in rows]
    assert len(set(keys)) == len(keys)
