"""The settings that ``steinbox reproduce`` takes are those that the sweep chose."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from steinbox.paper.figures import tuned
from steinbox.paper.table import Row, Table

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look for their module
    spec.loader.exec_module(module)
    return module


SWEEP = load("paper_sweep")
CHOSEN = {"gmm": tuned.GMM, "gmm_curve": tuned.GMM, "rbm": tuned.RBM}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_the_sweep_chose_is_what_is_run(name):
    chosen = SWEEP.choose(name)
    assert chosen
    for (method, free), (setting, _, _) in chosen.items():
        assert getattr(CHOSEN[name][method], free) == setting


def rows_of(values):
    """Log10 of MMD², for each setting on the seeds 1000, 1001, ..."""
    return Table(
        Row("SVGD", setting, 10, 5, 1000 + seed, 10, 5, 50, "mmd2", 10**value, 0.0)
        for setting, seeds in values.items()
        for seed, value in enumerate(seeds)
    )


def test_the_best_is_chosen_among_those_with_most_seeds_and_the_default_kept_where_it_is_close():
    values = {"paper": [-1.0, -1.0], "paper rate=1": [-1.05, -1.05], "paper rate=3": [-9.0]}
    assert SWEEP._choose(rows_of(values), "SVGD", list(values)) == ("paper", pytest.approx(-1.0), 2)
    values["paper rate=1"] = [-1.2, -1.1]
    assert SWEEP._choose(rows_of(values), "SVGD", list(values)) == ("paper rate=1", pytest.approx(-1.15), 2)


def test_the_best_of_the_first_seeds_go_on_and_the_default_with_them():
    values = {"paper": [-0.1], "paper rate=1": [-3.0, 9.0], "paper rate=3": [-2.0], "median": [0.0]}
    assert SWEEP._first(rows_of(values), "SVGD", list(values), 2, 1) == ["paper rate=1", "paper rate=3", "paper"]


def test_tuning_seeds_are_never_reported():
    assert all(row.seed < SWEEP.FIRST_SEED for path in RESULTS for row in Table.read(path))
    swept = [Table.read(SWEEP._path(name)) for name in CHOSEN]
    assert min(row.seed for table in swept for row in table) >= SWEEP.FIRST_SEED
    assert np.isfinite([row.value for table in swept for row in table]).all()


RESULTS = sorted((BENCHMARKS.parent / "docs" / "reproduction").glob("*.csv"))
