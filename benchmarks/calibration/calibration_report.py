"""Tables and a picture of what ``simulation_based.py`` measured.

They go to ``benchmarks/results/calibration.md``, ``calibration_summary.md`` and ``docs/images/calibration.png``.

Run ``python benchmarks/calibration/calibration_report.py``, then ``python docs/tables.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib

sys.path.append(str(Path(__file__).parent.parent / "published"))

import numpy as np
from ranks import bar_range, covered, p_value
from rows import Row, read
from simulation_based import NUM_DRAWS, RESULTS
from simulators import SIMULATORS

matplotlib.use("Agg")
from matplotlib import pyplot as plt

IMAGE = Path(__file__).parent.parent.parent / "docs" / "images" / "calibration.png"
NUM_BARS, LEVELS = 10, (0.5, 0.9)
LIKELIHOOD = "log-likelihood"


@dataclass(frozen=True)
class Runs:
    """Those of one model: ranks and shares (runs, quantities), and which runs warned."""

    model: str
    names: tuple[str, ...]
    ranks: np.ndarray
    below: np.ndarray
    has_warned: np.ndarray
    evaluations: np.ndarray
    seconds: np.ndarray

    @classmethod
    def of(cls, model: str, rows: list[Row]) -> Runs:
        own = [row for row in rows if row["model"] == model]
        return cls(
            model,
            (*SIMULATORS[model].parameters, LIKELIHOOD),
            np.array([row["ranks"].split() for row in own], dtype=int),
            np.array([row["below"].split() for row in own], dtype=float),
            np.array([int(row["warnings"]) > 0 for row in own]),
            np.array([int(row["evaluations"]) for row in own]),
            np.array([float(row["seconds"]) for row in own]),
        )

    def only(self, chosen: np.ndarray) -> Runs:
        arrays = (self.ranks, self.below, self.has_warned, self.evaluations, self.seconds)
        return Runs(self.model, self.names, *(each[chosen] for each in arrays))

    @property
    def p_values(self) -> np.ndarray:
        return np.array([p_value(each, NUM_DRAWS) for each in self.ranks.T])

    def __len__(self) -> int:
        return len(self.ranks)


def heading(rows: list[Row]) -> str:
    dates, versions = sorted({row["date"] for row in rows}), sorted({row["version"] for row in rows})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"`make bench-calibration`, {when}; {'; '.join(versions)}."


def summary_table(models: list[Runs]) -> Iterator[str]:
    """A line for each model: all runs, and those that did not warn."""
    yield (
        "| model | d | runs | warned | evaluations, median | seconds | smallest p × quantities | the same, not warned "
        "| 50% intervals hold | 90% intervals hold |"
    )
    yield "|---" * 10 + "|"
    for runs in models:
        quiet = runs.only(~runs.has_warned)
        held = " | ".join(f"{np.mean(np.abs(runs.below[:, :-1] - 0.5) <= level / 2):.1%}" for level in LEVELS)
        yield (
            f"| {runs.model}: {SIMULATORS[runs.model].about} | {len(runs.names) - 1} | {len(runs)} "
            f"| {runs.has_warned.sum()} | {np.median(runs.evaluations):,.0f} | {np.median(runs.seconds):.1f} "
            f"| {corrected(runs)} | {corrected(quiet) if len(quiet) else ''} | {held} |"
        )


def corrected(runs: Runs) -> str:
    """Bonferroni's: that any quantity has so small a p-value if all are uniform, at most."""
    smallest = min(1.0, len(runs.names) * runs.p_values.min())
    return f"**{smallest:.2g}**" if smallest < 0.05 else f"{smallest:.2g}"


def table(models: list[Runs]) -> Iterator[str]:
    """A line for each quantity."""
    yield "| model | quantity | p | 50% intervals hold | 90% intervals hold |"
    yield "|---" * 5 + "|"
    for runs in models:
        for name, below, p in zip(runs.names, runs.below.T, runs.p_values, strict=True):
            cells = " | ".join(with_interval(*covered(below, level), level) for level in LEVELS)
            yield f"| {runs.model} | {name} | {p:.2g} | {cells} |"


def with_interval(share: float, low: float, high: float, level: float) -> str:
    text = f"{share:.1%} [{low:.0%}, {high:.0%}]"
    return text if low <= level <= high else f"**{text}**"


def draw(models: list[Runs], path: Path) -> None:
    """Histograms of ranks, a row of bars for each model."""
    num_columns = max(len(runs.names) for runs in models)
    fig, rows = plt.subplots(
        len(models), num_columns, figsize=(1.35 * num_columns, 1.55 * len(models)), squeeze=False, sharey="row"
    )
    for row, runs in zip(rows, models, strict=True):
        low, high = bar_range(len(runs), NUM_BARS)
        for axis, name, ranks in zip(row, runs.names, runs.ranks.T, strict=False):
            counts, _ = np.histogram(ranks, NUM_BARS, (0, NUM_DRAWS + 1))
            axis.axhspan(low, high, color="0.85")
            axis.bar(np.arange(NUM_BARS), counts, width=0.85, color="tab:blue")
            axis.set_title(name, fontsize=8)
            axis.set(xticks=[0, NUM_BARS - 1], xticklabels=["0", str(NUM_DRAWS)])
            axis.tick_params(labelsize=7, length=2)
        for axis in row[len(runs.names) :]:
            axis.set_visible(False)
        row[0].set_ylabel(f"{runs.model}\nruns", fontsize=8)
    fig.supxlabel(f"rank of the truth among {NUM_DRAWS} draws; grey: 95% of single bars if all is right", fontsize=8)
    fig.tight_layout()
    fig.savefig(path, dpi=150)
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, default=RESULTS)
    parser.add_argument("--image", type=Path, default=IMAGE)
    arguments = parser.parse_args()
    rows = read(arguments.rows)
    models = [Runs.of(name, rows) for name in SIMULATORS if any(row["model"] == name for row in rows)]
    for name, lines in (("calibration_summary", summary_table(models)), ("calibration", table(models))):
        path = arguments.rows.parent / f"{name}.md"
        path.write_text("\n".join([heading(rows), "", *lines]) + "\n")
        print(f"wrote {path.name}")
    draw(models, arguments.image)


if __name__ == "__main__":
    main()
