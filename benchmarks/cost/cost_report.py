"""Which method has the smallest error after a minute, an hour, a day: a table and a picture of ``measure.py``'s rows.

They go to ``benchmarks/results/cost.md``, ``cost_measured.md`` and ``docs/images/cost.png``.

Run ``python benchmarks/cost/cost_report.py``, then ``python docs/tables.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib

sys.path.append(str(Path(__file__).parent.parent / "published"))

import numpy as np
from arithmetic import Curve, Speedup, in_batches, one_by_one
from rows import Cells, Row, cells_of, read

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

RESULTS = Path(__file__).parent.parent / "results"
IMAGE = Path(__file__).parent.parent.parent / "docs" / "images" / "cost.png"
COSTS = {"free": 0.0, "1 ms": 1e-3, "100 ms": 0.1, "10 s": 10.0}
WORKERS = (2, 16, 128)
TIMES = {"minute": 60.0, "hour": 3_600.0, "day": 86_400.0}
MOMENTS = np.unique([*np.geomspace(1, 2 * TIMES["day"], 200), *TIMES.values()])
CLOSE = 1.1  # errors within a tenth of the smallest are as good
SMALLEST_OWN_SECONDS = 0.01
Curves = dict[str, dict[str, Curve]]  # by method and problem


@dataclass(frozen=True)
class Method:
    """How a method is shown, and how many calls it can have at once."""

    label: str
    color: str
    speedup: Speedup
    can_go_on: bool = True


METHODS = {
    "all evaluations": Method("steinbox", "tab:red", one_by_one, can_go_on=False),
    "smc": Method("SMC", "tab:orange", in_batches(lambda num_evals: np.maximum(200, num_evals / 100))),
    "emcee": Method("emcee, 32 walkers", "tab:blue", in_batches(lambda _: 16)),
    "emcee_256": Method("emcee, 256 walkers", "tab:cyan", in_batches(lambda _: 128)),
}


def curves_of(cells: Cells) -> Curves:
    """By method and problem: medians over the seeds, of the budgets at which no run failed."""
    found: Curves = {method: {} for method in METHODS}
    for case, method in sorted({key[:2] for key in cells if key[1] in METHODS}):
        own = {budget: cell for (a, b, budget), cell in sorted(cells.items()) if (a, b) == (case, method)}
        good = [cell for cell in own.values() if cell.rows and not cell.failures]
        if good:
            chosen = METHODS[method]
            evals = np.array([cell.median("evaluations") for cell in good])
            seconds = np.array([own_seconds(cell.rows) for cell in good])
            errors = np.array([error(cell.rows) for cell in good])
            found[method][case] = Curve(evals, errors, seconds, chosen.speedup, chosen.can_go_on)
    return {method: curves for method, curves in found.items() if curves}


def error(rows: Sequence[Row]) -> float:
    """The larger of the worst error of a mean, in posterior sd, and the worst relative error of an sd."""
    return float(np.median([max(float(row["mean_worst"]), float(row["sd_worst"])) for row in rows]))


def own_seconds(rows: Sequence[Row]) -> float:
    own = np.median([float(row["cpu_seconds"]) - float(row["density_seconds"]) for row in rows])
    return max(float(own), SMALLEST_OWN_SECONDS)


def errors_after(curves: Curves, problems: Sequence[str], cost: float, num_workers: int) -> dict[str, np.ndarray]:
    """Of each method at ``MOMENTS``, the median over the problems; infinite where it has no answer on half of them."""
    never = np.full(len(MOMENTS), np.inf)
    return {
        method: np.median(
            [own[name].errors_after(MOMENTS, cost, num_workers) if name in own else never for name in problems], axis=0
        )
        for method, own in curves.items()
    }


def table(curves: Curves, problems: Sequence[str]) -> Iterator[str]:
    """Of each cell the best methods and the error, then the next one."""
    yield "| a call takes | workers | " + " | ".join(f"one {time}" for time in TIMES) + " |"
    yield "|---" * (len(TIMES) + 2) + "|"
    for name, cost in COSTS.items():
        for num_workers in WORKERS if cost else WORKERS[:1]:
            errors = errors_after(curves, problems, cost, num_workers)
            cells = [
                verdict({method: each[np.searchsorted(MOMENTS, time)] for method, each in errors.items()})
                for time in TIMES.values()
            ]
            yield f"| {name} | {num_workers if cost else 'any'} | " + " | ".join(cells) + " |"


def verdict(errors: dict[str, float]) -> str:
    ordered = sorted((value, METHODS[method].label) for method, value in errors.items() if np.isfinite(value))
    if not ordered:
        return "too short for any"
    best = ", ".join(label for value, label in ordered if value <= CLOSE * ordered[0][0])
    others = [f"{label} {value:.2g}" for value, label in ordered if value > CLOSE * ordered[0][0]]
    then = f"; {others[0]}" if others else ""
    return f"**{best}** {ordered[0][0]:.2g}{then}"


def measured_table(cells: Cells, problems: Sequence[str]) -> Iterator[str]:
    """What all of this is calculated from: medians over the problems."""
    budgets = sorted({budget for _, method, budget in cells if method in METHODS})
    yield "| method | " + " | ".join(f"{budget:,}" for budget in budgets) + " |"
    yield "|---" * (len(budgets) + 1) + "|"
    for method, chosen in METHODS.items():
        if any(key[1] == method for key in cells):
            yield (
                f"| {chosen.label} | " + " | ".join(measured(cells, problems, method, each) for each in budgets) + " |"
            )


def measured(cells: Cells, problems: Sequence[str], method: str, budget: int) -> str:
    """Error / own seconds, and how many problems have a run that failed."""
    own = [cells[name, method, budget] for name in problems if (name, method, budget) in cells]
    good = [cell for cell in own if cell.rows and not cell.failures]
    if not own:
        return ""
    failed = f", {len(own) - len(good)} failed" if len(own) > len(good) else ""
    missing = f", {len(own)} problems" if len(own) < len(problems) else ""
    if not good:
        return f"all failed{missing}"
    errors, seconds = ([function(cell.rows) for cell in good] for function in (error, own_seconds))
    return f"{np.median(errors):.2g} / {np.median(seconds):.2g} s{failed}{missing}"


def draw(curves: Curves, problems: Sequence[str], path: Path) -> None:
    """Error against time, by cost and workers; dashed beyond what was measured on the median problem."""
    fig, panels = plt.subplots(len(WORKERS), len(COSTS), figsize=(12, 7.5), sharex=True, sharey=True)
    for row, num_workers in zip(panels, WORKERS, strict=True):
        for axis, (name, cost) in zip(row, COSTS.items(), strict=True):
            if cost == 0 and num_workers != WORKERS[0]:
                axis.set_axis_off()
                continue
            draw_panel(axis, curves, problems, cost, num_workers)
            axis.set_title(f"a call takes {name}, {num_workers} workers" if cost else "calls are free", fontsize=9)
    panels[0, 0].set_ylim(top=1.5)
    for axis in (panels[0, 0], *panels[-1]):
        axis.tick_params(labelbottom=True)
    for axis in panels[1:, 1]:
        axis.tick_params(labelleft=True)
    panels[0, 0].set_xticks(list(TIMES.values()), TIMES, fontsize=8)
    panels[0, 0].set_xticks([], minor=True)
    panels[1, 0].legend(*panels[0, 0].get_legend_handles_labels(), fontsize=9, loc="center left", frameon=False)
    fig.supylabel("error of the worst mean or sd, in posterior sd; median over problems", fontsize=9)
    fig.supxlabel("wall clock; dashed: extrapolated", fontsize=9)
    fig.tight_layout()
    fig.savefig(path, dpi=150)
    plt.close(fig)


def draw_panel(axis: Axes, curves: Curves, problems: Sequence[str], cost: float, num_workers: int) -> None:
    for method, values in errors_after(curves, problems, cost, num_workers).items():
        chosen, known = METHODS[method], np.where(np.isfinite(values), values, np.nan)
        end = np.median([curve.measured_until(cost, num_workers) for curve in curves[method].values()])
        axis.loglog(MOMENTS, np.where(end > MOMENTS, known, np.nan), color=chosen.color, lw=2, label=chosen.label)
        axis.loglog(MOMENTS, np.where(end <= MOMENTS, known, np.nan), color=chosen.color, lw=1.2, ls="--")
    for time in TIMES.values():
        axis.axvline(time, color="0.7", lw=0.8, zorder=0)
    axis.tick_params(labelsize=8)
    axis.grid(axis="y", color="0.9")


def heading(rows: Sequence[Row]) -> str:
    dates, versions = sorted({row["date"] for row in rows}), sorted({row["version"] for row in rows})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"`make bench-cost`, {when}; {'; '.join(versions)}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, default=RESULTS / "cost" / "cost.csv")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--image", type=Path, default=IMAGE)
    arguments = parser.parse_args()
    rows = read(arguments.rows)
    cells = cells_of(rows)
    problems = sorted({case for case, _, _ in cells})
    curves = curves_of(cells)
    for name, lines in (("cost", table(curves, problems)), ("cost_measured", measured_table(cells, problems))):
        (arguments.output / f"{name}.md").write_text("\n".join([heading(rows), "", *lines]) + "\n")
        print(f"wrote {name}.md")
    draw(curves, problems, arguments.image)


if __name__ == "__main__":
    main()
