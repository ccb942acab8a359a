"""How far the last bit carries: the paper's runs from starts that differ by 1e-12, and with other BLAS threads.

    python benchmarks/paper_chaos.py

Every seed is run from its own start, from a start that is moved by about 1e-12, and once more with two threads
of linear algebra, whose sums round differently. A method that forgets such differences ends at the same MMD; one that
amplifies them ends elsewhere, and only its distribution over runs can be reproduced. It can be stopped and started
again. The rows are in benchmarks/results/paper_chaos_*.csv, the table in benchmarks/results/paper_chaos.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.gaussian import Gaussian
from steinbox.paper import targets
from steinbox.paper.claims import log10, markdown
from steinbox.paper.experiment import run
from steinbox.paper.figures import EXPERIMENTS, gmm, tuned
from steinbox.paper.figures.drawing import KERNEL_CURVE, SVGD
from steinbox.paper.measures import SphericalMixture
from steinbox.paper.table import Row, Seeds, Table, Task
from steinbox.paper.trajectory import trajectory

RESULTS = Path(__file__).parent / "results"
SIZE_OF_NUDGE = 1e-12
THREADS = " threads=2"
ENDINGS = ("", " nudge=1", THREADS)
REPORTED = Path(__file__).parents[1] / "docs" / "reproduction"
NUM_SEEDS = 2

RUNS = (
    ("rbm", KERNEL_CURVE, tuned.RBM[KERNEL_CURVE].rate, 100, 2000),
    ("gmm", KERNEL_CURVE, tuned.GMM[KERNEL_CURVE].rate, 200, 3000),
    ("gmm", SVGD, tuned.GMM[SVGD].rate, 200, 3000),
)
FIGURES = {"gmm": "2", "rbm": "3"}


@dataclass(frozen=True)
class Nudged:
    """A distribution whose draws are moved by a little."""

    original: Gaussian
    nudge: int

    @property
    def dimension(self) -> int:
        return self.original.dimension

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        draws = self.original.sample(num_points, rng)
        return draws + SIZE_OF_NUDGE * np.random.default_rng(self.nudge).standard_normal(draws.shape)

    def log_prob(self, points: Array) -> Array:
        return self.original.log_prob(points)

    def score(self, points: Array) -> Array:
        return self.original.score(points)


def measure(name: str, task: Task) -> list[Row]:
    """MMD² at the end of a run; "nudge=k" in the setting moves its start, "threads=2" is up to the process."""
    setting, _, nudge = task.setting.replace(THREADS, "").partition(" nudge=")
    target, initial, truth = problem(name, task.seed)
    method = gmm.make_sampler(replace(task, setting=setting), initial)
    start = Nudged(initial, int(nudge)) if nudge else initial
    rows = trajectory(task, method, target.log_prob, start, truth, score=target.score, watch=False)
    return [row for row in rows if row.metric == "mmd2"]


def problem(name: str, seed: int) -> tuple[Any, Gaussian, SphericalMixture]:
    """Target, start and what errors are measured to."""
    if name == "rbm":
        machine = targets.paper_rbm(seed)
        return machine, targets.paper_rbm_initial(seed), SphericalMixture.of(machine)
    mixture = targets.paper_gmm(seed)
    means = np.array([each.mean for each in mixture.components])
    return mixture, targets.paper_gmm_initial(seed), SphericalMixture(means, mixture.weights, 1.0)


def run_all(number: int, endings: tuple[str, ...]) -> None:
    """What is missing of these settings."""
    name, method, setting, size, num_iterations = RUNS[number]
    tasks = [
        Task(method, setting + ending, size, num_iterations, seed) for ending in endings for seed in range(NUM_SEEDS)
    ]
    experiment = replace(
        EXPERIMENTS[name],
        name=f"paper_chaos_{name}",
        tasks=lambda config: tasks,
        measure=lambda config, task, folder: measure(name, task),
    )
    run(experiment, None, RESULTS)


def summary() -> list[list[str]]:
    """Changes of log10 MMD², seed by seed, and the standard deviation over all seeds of the docs' rows."""
    changed = ("start moved by 1e-12", "two threads", "row of the docs")
    table = [["figure", "method", "setting", *changed, "sd over seeds"]]
    for name, method, setting, size, _ in RUNS:
        rows = Table.read(RESULTS / f"paper_chaos_{name}.csv").where(method=method)
        if not len(rows):
            continue  # not run yet
        original, moved, threads = [log10(rows.where(setting=setting + each).by_seed()) for each in ENDINGS]
        reported = Table.read(REPORTED / f"{name}.csv").where(method=method, setting=setting, size=size, metric="mmd2")
        ends = log10(reported.last().by_seed())
        changes = [_changes(each, original) for each in (moved, threads, ends)]
        table.append([FIGURES[name], method, setting, *changes, f"{np.std(list(ends.values()), ddof=1):.2g}"])
    return table


def _changes(others: Seeds, original: Seeds) -> str:
    """One for each seed that both have; those that are not run yet are left out."""
    return ", ".join(f"{others[seed] - original[seed]:.1g}" for seed in original if seed in others) or "not run yet"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--threads"]:
        run_all(int(sys.argv[2]), ENDINGS[2:])
        sys.exit()
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    for number in range(len(RUNS)):
        run_all(number, ENDINGS[:2])
        subprocess.run([sys.executable, __file__, "--threads", str(number)], env=environment, check=True)
        (RESULTS / "paper_chaos.md").write_text(markdown(summary()) + "\n")
    print(markdown(summary()))
