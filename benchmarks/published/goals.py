"""What was to be reached, written down before the runs, and whether it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from rows import Cell, Cells, Row, median_interval

NINE = tuple(f"{family}-{d}" for family in ("lumpy", "student", "cigar") for d in (2, 6, 10))
MAX_DELTA_LML, MAX_GSKL = 1.0, 1 / 8
MAX_SD, NUM_CLAIMED = 0.02, 2.0
MIN_RUNS = 5  # below which a small standard deviation may be chance
NORMAL_90 = 1.645
COVERAGE = (0.80, 0.97)
EMPTY = Cell((), ())


@dataclass(frozen=True)
class Goal:
    """One line: what, on which case with how many evaluations, what came, what was wanted."""

    what: str
    case: str
    budget: int | None
    measured: str
    wanted: str
    is_met: bool | None
    """None if there are too few runs to say."""
    num_runs: int
    is_certain: bool = True
    """Whether the intervals of the medians say the same."""

    def __str__(self) -> str:
        verdict = {True: "yes", False: "**no**", None: "too few runs" if self.num_runs else "not run yet"}[self.is_met]
        verdict += "" if self.is_certain else ", within chance"
        budget = "" if self.budget is None else f"{self.budget:,}"
        return (
            f"| {self.what} | {self.case} | {budget} | {self.num_runs} | {self.measured} | {self.wanted} | {verdict} |"
        )


def at_most(what: str, case: str, budget: int, cells: Cells, limits: Mapping[str, float]) -> Goal:
    """Medians of the default at or below these limits."""
    cell = cells.get((case, "default", budget), EMPTY)
    if not cell.rows:
        return Goal(what, case, budget, "", _triple(limits), None, 0)
    medians = {name: cell.median(name) for name in limits}
    ends = {name: median_interval(cell.values(name)) for name in limits}
    is_met = all(medians[name] <= limit for name, limit in limits.items())
    if is_met:
        is_certain = all(ends[name][1] <= limit for name, limit in limits.items())
    else:
        is_certain = any(ends[name][0] > limit for name, limit in limits.items())
    return Goal(what, case, budget, _triple(medians), _triple(limits), is_met, len(cell.rows), is_certain)


def _triple(numbers: Mapping[str, float]) -> str:
    return "/".join(f"{number:.3g}" for number in numbers.values())


def against_printed(
    what: str,
    cells: Cells,
    printed: list[Row],
    rival: str,
    cases: Mapping[str, tuple[int, ...]],
    names: tuple[str, ...],
) -> Iterator[Goal]:
    for case, budgets in cases.items():
        row = next(row for row in printed if (row["case"], row["method"]) == (case, rival))
        for budget in budgets:
            yield at_most(what, case, budget, cells, {name: float(row[name]) for name in names})


def cube_goal(case: str, budget: int, cells: Cells) -> Goal:
    cell = cells.get((case, "default", budget), EMPTY)
    what, wanted = "D: sd of log Z; runs within two claimed errors", f"≤ {MAX_SD}; 9 in 10"
    if len(cell.rows) < 2:
        return Goal(what, case, budget, "", wanted, None, len(cell.rows))
    errors = np.array([float(row["log_z_error"]) for row in cell.rows])
    num_within = int((np.abs(cell.values("log_z_score")) <= NUM_CLAIMED).sum())
    sd, num_runs = float(errors.std(ddof=1)), len(errors)
    is_met = sd <= MAX_SD and num_within >= 0.9 * num_runs
    is_certain = not is_met or num_runs >= MIN_RUNS
    return Goal(what, case, budget, f"{sd:.2g}; {num_within} of {num_runs}", wanted, is_met, num_runs, is_certain)


def goals(cells: Mapping[str, Cells], printed: list[Row]) -> Iterator[Goal]:
    """All of them; ``cells`` by suite."""
    yield from against_printed(
        "A: ΔLML/MMTV at or below S-VBMC of 10",
        cells["stacking"],
        printed,
        "S-VBMC of 10",
        {"mixture": (2_000,), "ring": (2_000,)},
        ("log_z_error", "mmtv"),
    )
    yield from against_printed(
        "B: ΔLML/MMTV/GsKL at or below flow regression with 3,000 D",
        cells["regression"],
        printed,
        "flow regression",
        {"rosenbrock-gaussian": (18_000, 3_000), "lotka-volterra": (24_000, 4_000)},
        ("log_z_error", "mmtv", "gskl"),
    )
    for case in NINE:
        limits = {"log_z_error": MAX_DELTA_LML, "gskl": MAX_GSKL}
        yield at_most("C: ΔLML/GsKL below 1 and 1/8", case, 50 * (int(case.split("-")[1]) + 2), cells["vbmc"], limits)
    names = sorted({(case, budget) for case, method, budget in cells["cube"] if method == "default"}, key=_by_number)
    yield from (cube_goal(case, budget, cells["cube"]) for case, budget in names)
    yield coverage_goal("every suite, every budget", [cell for each in cells.values() for cell in _default(each)])


def _by_number(pair: tuple[str, int]) -> tuple[str, int, int]:
    family, _, dimension = pair[0].partition("-")
    return family, int(dimension), pair[1]


def _default(cells: Cells) -> list[Cell]:
    return [cell for (_, method, _), cell in cells.items() if method == "default"]


def coverage_goal(name: str, cells: list[Cell]) -> Goal:
    """How many 90% intervals of log Z hold the truth."""
    scores = np.concatenate([np.abs(cell.values("log_z_score")) for cell in cells] or [np.empty(0)])
    num_within = int((scores <= NORMAL_90).sum())
    share = num_within / max(len(scores), 1)
    wanted = f"{COVERAGE[0]:.0%} to {COVERAGE[1]:.0%}"
    is_met = COVERAGE[0] <= share <= COVERAGE[1] if len(scores) else None
    measured = f"{num_within} of {len(scores)}, {share:.0%}"
    return Goal("90% intervals of log Z that hold the truth", name, None, measured, wanted, is_met, len(scores))
