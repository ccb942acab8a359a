"""Tables of what ``run.py`` measured beside what the papers printed.

Every method that has rows in ``benchmarks/results/published/<suite>.csv`` gets its lines; printed figures are read from
``printed.csv`` there. The tables go to ``benchmarks/results/published_<name>.md``, and ``docs/tables.py`` puts them on
the page.

Run ``python benchmarks/published/report.py``, then ``python docs/tables.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from goals import coverage_goal, goals
from rows import Cell, Cells, Row, cells_of, median_interval, read

RESULTS = Path(__file__).parent.parent / "results"
SUITES = ("stacking", "regression", "vbmc", "cube")
LABELS = {"default": "**steinbox, default**", "search": "steinbox, surrogate search", "exact": "exact draws"}
MAX_MEAN_ERROR = 0.5  # in posterior standard deviations; beyond it something was missed
IN_SUITE = ("log_z_error", "mmtv", "gskl")
IN_UNITS = tuple(f"{name}_{which}" for name in ("mean", "sd", "quantile") for which in ("worst", "median"))


def main() -> None:
    for name, lines in tables(RESULTS / "published").items():
        path = RESULTS / f"published_{name}.md"
        path.write_text("\n".join(lines) + "\n")
        print(f"wrote {path.name}")


def tables(folder: Path) -> dict[str, list[str]]:
    """The lines of each table, by name, of the files in this folder."""
    rows = {suite: read(folder / f"{suite}.csv") for suite in SUITES}
    cells, printed = {suite: cells_of(some) for suite, some in rows.items()}, read(folder / "printed.csv")
    made = {suite: [heading(rows[suite]), "", *suite_table(cells[suite], printed, suite)] for suite in SUITES}
    units = {suite: list(units_table(cells[suite])) for suite in SUITES}
    made |= {f"{suite}_units": [heading(rows[suite]), "", *units[suite]] for suite in SUITES}
    everything = [row for some in rows.values() for row in some]
    return made | {
        "goals": [heading(everything), "", *goals_table(cells, printed)],
        "coverage": [heading(everything), "", *coverage_table(cells)],
    }


def heading(rows: list[Row]) -> str:
    if not rows:
        return "`python benchmarks/published/run.py` has not been run on it."
    dates = sorted({row["date"] for row in rows})
    versions = sorted({row["version"] for row in rows})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"`python benchmarks/published/run.py`, `report.py`, {when}; {'; '.join(versions)}."


def suite_table(cells: Cells, printed: list[Row], suite: str) -> Iterator[str]:
    """A line for each case, method and budget; printed ones after those measured."""
    yield "| target | method | evaluations | ΔLML | MMTV | GsKL | 90% intervals of log Z | warned | runs |"
    yield "|---" * 9 + "|"
    for case in dict.fromkeys(case for case, _, _ in cells):
        for (_, method, budget), cell in sorted(
            _of(cells, case).items(), key=lambda item: (_rank(item[0][1]), item[0])
        ):
            yield measured_line(case, method, budget, cell)
        for row in printed:
            if (row["suite"], row["case"]) == (suite, case):
                yield printed_line(row)


def _of(cells: Cells, case: str) -> Cells:
    return {key: cell for key, cell in cells.items() if key[0] == case}


def _rank(method: str) -> int:
    return {"exact": 0, "default": 1}.get(method, 2)


def measured_line(case: str, method: str, budget: int, cell: Cell) -> str:
    label = LABELS.get(method, method)
    if not cell.rows:
        return f"| {case} | {label} | {budget:,} | not run: {cell.failures[0]} | | | | | 0 |"
    numbers = " | ".join(with_interval(cell, name) for name in IN_SUITE)
    scores = cell.values("log_z_score")
    within = "does not claim one" if np.isnan(scores).all() else f"{(np.abs(scores) <= 1.645).sum()} of {len(scores)}"
    has_warnings = any(row["warnings"] for row in cell.rows)
    warned = str(sum(int(row["warnings"] or 0) > 0 for row in cell.rows)) if has_warnings else ""
    failed = f", {len(cell.failures)} failed: {cell.failures[0]}" if cell.failures else ""
    evals = with_used(budget, cell)
    return f"| {case} | {label} | {evals} | {numbers} | {within} | {warned} | {len(cell.rows)}{failed} |"


def with_used(budget: int, cell: Cell) -> str:
    """The budget, and the median of what was used if a method that evaluates at all stopped before."""
    used = float(np.median(cell.values("evaluations")))
    return f"{budget:,} (used {used:,.0f})" if 0 < used < budget else f"{budget:,}"


def with_interval(cell: Cell, measure: str) -> str:
    values = cell.values(measure)
    if np.isnan(values).all():
        return "no estimate"
    low, high = median_interval(values)
    return f"{np.median(values):.2g} [{low:.2g}, {high:.2g}]"


def printed_line(row: Row) -> str:
    numbers = " | ".join(f"{float(row[name]):.2g}" for name in IN_SUITE)
    note = f" ({row['note']})" if row["note"] else ""
    budget = f"{int(row['budget']):,}" if row["budget"] else "until its mode is found"
    return f"| {row['case']} | {row['method']}{note} | {budget} | {numbers} | | | *printed* |"


def units_table(cells: Cells) -> Iterator[str]:
    """Errors in posterior standard deviations: the worst coordinate / the median one."""
    yield "| target | method | evaluations | means | sds | 5, 50, 95% quantiles | a mean off by > 0.5 | runs |"
    yield "|---" * 8 + "|"
    for (case, method, budget), cell in cells.items():
        if cell.rows and method != "exact":
            pairs = [f"{cell.median(a):.2g} / {cell.median(b):.2g}" for a, b in zip(IN_UNITS[::2], IN_UNITS[1::2])]  # noqa: B905
            numbers, label = " | ".join(pairs), LABELS.get(method, method)
            yield f"| {case} | {label} | {budget:,} | {numbers} | {wrong_runs(cell)} | {len(cell.rows)} |"


def wrong_runs(cell: Cell) -> str:
    """How many runs have a mean that is off by more than half a standard deviation, and how many of these warned."""
    wrong = [row for row in cell.rows if float(row["mean_worst"]) > MAX_MEAN_ERROR]
    num_warned = sum(int(row["warnings"] or 0) > 0 for row in wrong)
    return f"{len(wrong)} ({num_warned} warned)" if wrong else "0"


def goals_table(cells: dict[str, Cells], printed: list[Row]) -> Iterator[str]:
    yield "| goal | target | evaluations | runs | measured, medians | wanted | reached |"
    yield "|---" * 7 + "|"
    yield from map(str, goals(cells, printed))


def coverage_table(cells: dict[str, Cells]) -> Iterator[str]:
    """By suite, with and without noise."""
    yield "| suite | 90% intervals of log Z that hold the truth |"
    yield "|---|---|"
    for suite, some in cells.items():
        for is_noisy in (False, True):
            group = [
                cell
                for (case, method, _), cell in some.items()
                if method == "default" and case.endswith("noise") == is_noisy
            ]
            if group:
                name = f"{suite}, with noise" if is_noisy else suite
                yield f"| {name} | {coverage_goal(name, group).measured} |"


if __name__ == "__main__":
    main()
