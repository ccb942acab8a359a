"""Tables and pictures of what ``run.py`` measured: ``python benchmarks/accuracy/report.py``.

Cells are means over the seeds. The best method in a row that uses values only is bold. A method of which some runs
failed has their number behind its mean; one of which all failed, or did not come to an end within the budget or the
time limit, has a dash.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import matplotlib
import numpy as np
from measures import MEASURES
from problems import PROBLEMS
from run import METHODS, PEERS, RESULTS

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axis import Axis

IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
PACKAGES = ("steinbox", "emcee", "zeus-mcmc", "dynesty", "pocomc", "pymc", "blackjax", "evosax")
WITH_GRADIENTS = ("annealed_svgd", "svgd")
COMPARED = (
    *("exact", "default", "smc", "adaptive_metropolis"),
    *("emcee", "emcee_de", "zeus", "dynesty", "pocomc", "pymc_smc", "blackjax", "evosax"),
)
IN_DETAIL = ("exact", "default", "smc", "emcee", "pymc_smc", "blackjax")
OVERVIEW = {
    "gmm25": "ten-component mixture, 25-D",
    "rbm20": "restricted Boltzmann machine, 20-D",
    "banana2": "banana, 2-D",
    "ten_bananas20": "ten bananas, 20-D",
    "funnel10": "funnel, 10-D",
    "off_centre_modes10": "two modes, the start beyond one of them, 10-D",
    "ar30": "AR(1), 30-D",
    "eight_schools": "eight schools, 10-D",
}
STYLES = {
    "exact": ("200 exact draws", "black", "|"),
    "default": ("steinbox, default", "tab:red", "o"),
    "smc": ("steinbox, SMC", "tab:orange", "s"),
    "emcee": ("emcee", "tab:blue", "^"),
    "emcee_de": ("emcee, DE moves", "tab:brown", ">"),
    "zeus": ("zeus", "tab:cyan", "v"),
    "dynesty": ("dynesty", "tab:gray", "D"),
    "pocomc": ("pocoMC", "tab:purple", "P"),
    "pymc_smc": ("PyMC SMC", "tab:green", "X"),
    "blackjax": ("blackjax SMC", "tab:olive", "<"),
    "evosax": ("evosax SV-CMA-ES", "tan", "d"),
}


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one problem with one budget: those that came to an end, and how many did not."""

    runs: tuple[dict[str, float], ...]
    num_failed: int

    @property
    def num_seeds(self) -> int:
        return len(self.runs) + self.num_failed

    def mean(self, measure: str) -> float:
        return float(np.mean([run[measure] for run in self.runs])) if self.runs else np.nan


Cells = dict[tuple[str, str, int], Cell]


def read(path: Path) -> Cells:
    """What was measured, by problem, method and budget."""
    groups = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            groups[row["problem"], row["method"], int(row["budget"])].append(row)
    return {key: cell_of(rows) for key, rows in groups.items()}


def cell_of(rows: list[dict[str, str]]) -> Cell:
    good = [row for row in rows if not row["error"]]
    numbers = ({name: float(row[name] or 0) for name in (*MEASURES, "warnings")} for row in good)
    return Cell(tuple(numbers), len(rows) - len(good))


def found(cells: Cells, problem: str, method: str, budget: int) -> Cell:
    """One cell; exact draws have no budget."""
    return cells.get((problem, method, 0 if method == "exact" else budget), Cell((), 0))


def short(number: float) -> str:
    """Three digits, without the zero that leads."""
    text = f"{number:.3f}" if abs(number) < 10 else f"{number:.2g}"
    return text.removeprefix("0") if text != "0" else text


def mmd_row(cells: Cells, problem: str, methods: list[str], budget: int) -> str:
    """One line of the first table."""
    row = [found(cells, problem, method, budget) for method in methods]
    means = [cell.mean("mmd") for cell in row]
    rivals = [
        mean
        for mean, method in zip(means, methods, strict=True)
        if method not in ("exact", *WITH_GRADIENTS) and np.isfinite(mean)
    ]
    texts = [mmd_text(cell, is_best=bool(rivals) and cell.mean("mmd") == min(rivals)) for cell in row]
    return f"| {problem} | {' | '.join(texts)} |"


def mmd_text(cell: Cell, *, is_best: bool) -> str:
    if not cell.runs:
        return "–"
    mean = short(cell.mean("mmd"))
    failed = f" ({cell.num_failed} failed)" if cell.num_failed else ""
    return f"{f'**{mean}**' if is_best else mean}{failed}"


def detail_row(cells: Cells, problem: str, methods: list[str], budget: int) -> str:
    """One line of the second table: errors of mean and variance, and the spread of log p."""
    texts = []
    for method in methods:
        cell = found(cells, problem, method, budget)
        numbers = [short(cell.mean(name)) for name in ("mean_error", "variance_error", "log_prob_spread")]
        texts.append(" / ".join(numbers) if cell.runs else "–")
    return f"| {problem} | {' | '.join(texts)} |"


def table(cells: Cells, line: Callable[..., str], candidates: tuple[str, ...], budget: int) -> list[str]:
    """All problems, and those methods of which there are runs."""
    methods = [name for name in candidates if any(key[1] == name for key in cells)]
    problems = [name for name in PROBLEMS if any(key[0] == name for key in cells)]
    lines = [f"| problem | {' | '.join(methods)} |", f"|---{'|---' * len(methods)}|"]
    lines += [line(cells, problem, methods, budget) for problem in problems]
    seeds = [max(cell.num_seeds for key, cell in cells.items() if key[1] == name) for name in methods]
    return [*lines, f"| seeds | {' | '.join(map(str, seeds))} |"]


def heading(what: str) -> str:
    versions = ", ".join(f"{name} {version}" for name in PACKAGES if (version := version_of(name)))
    return (
        f"`python benchmarks/accuracy/run.py`, `python benchmarks/accuracy/report.py`, {date.today()}; {versions}. "
        f"{what} Means over the seeds."
    )


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def write(name: str, lines: list[str]) -> None:
    path = RESULTS.parent / f"{name}.md"
    path.write_text("\n".join(lines) + "\n")
    print(f"wrote {path.name}")


def write_tables(cells: Cells, budgets: list[int]) -> None:
    others = ("exact", *(name for name in METHODS if name not in COMPARED))
    kinds = {
        "mmd": (mmd_row, COMPARED, "MMD to 5,000 exact draws, 200 points"),
        "mmd_own": (mmd_row, others, "MMD of steinbox's other methods, of which the svgd ones use gradients"),
        "moments": (detail_row, IN_DETAIL, "Squared error of the mean / of the variance / spread of log p"),
    }
    for budget in budgets:
        for name, (line, methods, what) in kinds.items():
            lines = table(cells, line, methods, budget)
            text = heading(f"{what}, at most {budget:,} evaluations.")
            write(f"accuracy_{name}_{budget}", [text, "", *lines])


def write_overview(cells: Cells) -> None:
    """The table of the README: the default with few and many evaluations, and the best peer with many."""
    lines = [
        "| problem | 200 exact draws | best peer, 20,000 | default, 5,000 | default, 20,000 |",
        "|---|---|---|---|---|",
    ]
    for problem, what in OVERVIEW.items():
        means = {name: found(cells, problem, name, 20_000).mean("mmd") for name in PEERS}
        best = min((name for name in means if np.isfinite(means[name])), key=lambda name: means[name])
        ours = [short(found(cells, problem, "default", budget).mean("mmd")) for budget in (5_000, 20_000)]
        exact = short(found(cells, problem, "exact", 0).mean("mmd"))
        lines.append(f"| {what} | {exact} | {short(means[best])} ({STYLES[best][0]}) | {ours[0]} | **{ours[1]}** |")
    write("accuracy_readme", lines)


def write_summary(cells: Cells, budget: int) -> None:
    """Every method over all problems that it was run on, by each measure, and how often the default is closer."""
    measures = ("mean_error", "variance_error", "mmd")
    heads = ("mean", "default closer", "variance", "default closer", "MMD", "default closer")
    lines = [
        f"`python benchmarks/accuracy/report.py`, of {RESULTS.name}: medians over problems of the squared error of the "
        f"mean and of the variance, and of MMD; 200 points, at most {budget:,} evaluations. Default closer: on how "
        "many of the problems that the method was run on.",
        "",
        f"| method | problems | {' | '.join(heads)} |",
        f"|---|---|{'---|' * len(heads)}",
    ]
    for method in COMPARED:
        errors = {problem: found(cells, problem, method, budget) for problem in PROBLEMS}
        errors = {problem: cell for problem, cell in errors.items() if cell.runs}
        if not errors:
            continue
        texts = []
        for measure in measures:
            theirs = np.array([cell.mean(measure) for cell in errors.values()])
            ours = np.array([found(cells, problem, "default", budget).mean(measure) for problem in errors])
            texts += [f"{np.median(theirs):.2g}", "" if method == "default" else str(int((ours < theirs).sum()))]
        label = STYLES[method][0] if method in STYLES else f"steinbox, {method}"
        lines.append(f"| {label} | {len(errors)} | {' | '.join(texts)} |")
    write(f"accuracy_summary_{budget}", lines)


def write_warnings(cells: Cells, budgets: list[int]) -> None:
    """Where the default was wrong without saying so, and where it warned without need."""
    lines = [
        "`python benchmarks/accuracy/report.py`: runs of the default that are wrong (MMD above twice that of "
        "200 exact draws) or that warn. Problems where no run is or does are left out.",
        "",
        "| problem | evaluations | runs | wrong, warned | wrong, silent | right, warned |",
        "|---|---|---|---|---|---|",
    ]
    totals = np.zeros(4, dtype=int)
    for problem in PROBLEMS:
        for budget in budgets:
            counts = _warned(cells, problem, budget)
            totals += counts
            if counts[1:].any():
                lines.append(f"| {problem} | {budget:,} | {' | '.join(str(count or '') for count in counts)} |")
    lines.append(f"| all problems | | {' | '.join(map(str, totals))} |")
    write("accuracy_warnings", lines)


def _warned(cells: Cells, problem: str, budget: int) -> np.ndarray:
    """Runs, and how many of them are wrong and warned, wrong and silent, right and warned."""
    runs = found(cells, problem, "default", budget).runs
    limit = 2 * found(cells, problem, "exact", 0).mean("mmd")
    wrong = np.array([run["mmd"] > limit for run in runs], dtype=bool)
    warned = np.array([run["warnings"] > 0 for run in runs], dtype=bool)
    return np.array([len(runs), (wrong & warned).sum(), (wrong & ~warned).sum(), (~wrong & warned).sum()])


def draw_dots(cells: Cells, budget: int) -> None:
    """Every method's MMD on every problem, side by side."""
    names = [name for name in PROBLEMS if (name, "exact", 0) in cells]
    figure, axes = plt.subplots(figsize=(8, 0.3 * len(names) + 1.2), layout="constrained")
    for method, (label, colour, marker) in STYLES.items():
        means = [found(cells, name, method, budget).mean("mmd") for name in names]
        if np.isfinite(means).any():
            large = {"s": 110, "linewidths": 2} if method == "exact" else {"s": 28, "alpha": 0.85}
            axes.scatter(means, range(len(names)), color=colour, marker=marker, label=label, zorder=2, **large)
    scale(axes.xaxis)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", color="0.92", zorder=0)
    axes.set_xlabel(f"MMD of 200 points to 5,000 exact draws, {budget:,} evaluations (lower is better)")
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    save(figure, f"accuracy_{budget}")


def draw_curves(cells: Cells, group: str, budgets: list[int]) -> None:
    """Error against evaluations, one panel for each problem of a group."""
    names = [name for name, problem in PROBLEMS.items() if problem.group == group and (name, "exact", 0) in cells]
    columns = 5
    rows = math.ceil(len(names) / columns)
    figure, panels = plt.subplots(rows, columns, figsize=(10, 2.1 * rows), layout="constrained")
    for axes, name in zip(panels.flat, names, strict=False):
        draw_panel(axes, cells, name, budgets)
    for axes in panels.flat[len(names) :]:
        axes.axis("off")
    handles = panels.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=6, fontsize=8, frameon=False)
    figure.supxlabel("evaluations of log p", fontsize=9)
    figure.supylabel("MMD to exact draws", fontsize=9)
    save(figure, f"accuracy_{group}")


def draw_panel(axes: plt.Axes, cells: Cells, name: str, budgets: list[int]) -> None:
    for method, (label, colour, marker) in STYLES.items():
        if method == "exact":
            axes.axhline(found(cells, name, "exact", 0).mean("mmd"), color=colour, linestyle=":", lw=1, label=label)
            continue
        means = [found(cells, name, method, budget).mean("mmd") for budget in budgets]
        if np.isfinite(means).any():
            axes.plot(budgets, means, color=colour, marker=marker, markersize=4, lw=1, label=label)
    scale(axes.yaxis)
    axes.set_xscale("log")
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.set_xlim(budgets[0] / 1.5, budgets[-1] * 1.5)
    axes.minorticks_off()
    axes.tick_params(labelsize=7)
    axes.set_title(name, fontsize=8)


def scale(axis: Axis) -> None:
    """Logarithmic, the same for all."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": (0.006, 1.6)})
    axis.set_ticks([0.01, 0.03, 0.1, 0.3, 1], labels=[".01", ".03", ".1", ".3", "1"])
    axis.set_ticks([], minor=True)


def save(figure: plt.Figure, name: str) -> None:
    path = IMAGES / f"{name}.png"
    figure.savefig(path, dpi=110)
    print(f"wrote {path.name}, {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", type=Path, default=RESULTS)
    cells = read(parser.parse_args().input)
    budgets = sorted({budget for _, _, budget in cells if budget})
    write_tables(cells, budgets)
    write_overview(cells)
    for budget in budgets:
        write_summary(cells, budget)
    write_warnings(cells, budgets)
    for budget in budgets:
        draw_dots(cells, budget)
    for group in ("tuning", "seen", "test"):
        draw_curves(cells, group, budgets)


if __name__ == "__main__":
    main()
