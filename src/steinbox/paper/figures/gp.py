r"""Figure 4: the posterior of a Gaussian process classifier's length-scales, on Glass and on SUSY."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from steinbox.common.arrays import Array
from steinbox.paper.claims import Claim
from steinbox.paper.datasets import load_glass, load_susy
from steinbox.paper.experiment import Experiment
from steinbox.paper.figures.drawing import CHAINS, DEFAULT, EXACT, INTERPOLANT, KERNEL_CURVE, SMC, finish, name_lines
from steinbox.paper.figures.gmm import OURS, PAPER, make_sampler
from steinbox.paper.figures.panels import Curve, convergence, largest_size, summary
from steinbox.paper.figures.rbm import (
    burn_in_setting,
    converges_fastest,
    list_chains,
    list_curves,
    make_budgeted,
    make_chains,
)
from steinbox.paper.ground_truth import ground_truth
from steinbox.paper.measures import ReferenceDraws
from steinbox.paper.table import Row, Table, Task
from steinbox.paper.targets import ExpectationPropagation, GPClassification, Laplace, paper_gp_initial
from steinbox.paper.trajectory import exact_rows, trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """How much is run, on which data: Glass has ``num_rows`` 0, all of it; of SUSY the first rows are used.

    ``reference`` is the size of the ground truth: evaluations to fit a mixture, chains, and steps of each.
    """

    num_rows: int
    num_seeds: int
    num_iterations: int
    burn_in: int
    num_interpolant_iterations: int
    num_particles: int = 200
    reference: tuple[int, int, int] = (20_000, 100, 400)
    max_r_hat: float = 1.01
    approximation: str = "ep"

    @property
    def name(self) -> str:
        """Of the data and the approximation, as in the experiment's name."""
        data = "susy" if self.num_rows else "glass"
        return data if self.approximation == "ep" else f"{data}-{self.approximation}"

    @property
    def dimension(self) -> int:
        """The number of length-scales."""
        return 18 if self.num_rows else 9


_SIZES = {
    "miniature": Config(30, 1, 3, 2, 2, num_particles=20, reference=(500, 10, 20), max_r_hat=np.inf),
    "quick": Config(60, 1, 40, 40, 20, num_particles=50, reference=(8_000, 40, 200), max_r_hat=1.1),
    "full": Config(200, 5, 100, 6000, 100),
}
_APPROXIMATIONS: dict[str, ExpectationPropagation | Laplace] = {"ep": ExpectationPropagation(), "laplace": Laplace()}


def _sizes(approximation: str, *, is_glass: bool) -> dict[str, Config]:
    return {
        name: replace(config, approximation=approximation, num_rows=0 if is_glass else config.num_rows)
        for name, config in _SIZES.items()
    }


@cache
def make_target(num_rows: int, approximation: str) -> GPClassification:
    """The posterior, its estimate made a function by common random numbers."""
    data = load_susy(num_rows) if num_rows else load_glass()
    return GPClassification(data.features, data.labels, approximation=_APPROXIMATIONS[approximation], seed=0)


def tasks(config: Config) -> list[Task]:
    """All methods with the same number of particles; SMC and the default have the interpolant's evaluations."""
    size, seeds = config.num_particles, range(config.num_seeds)
    long, short = config.num_iterations, config.num_interpolant_iterations
    return [
        *[Task(EXACT, "", size, long, seed) for seed in seeds],
        *[Task(method, OURS, size, short, seed) for method in (INTERPOLANT, SMC, DEFAULT) for seed in seeds],
        *[Task(KERNEL_CURVE, PAPER, size, long, seed) for seed in seeds],
        *[Task(method, burn_in_setting(config.burn_in), size, long, seed) for method in CHAINS for seed in seeds],
    ]


def reference_path(config: Config, folder: Path) -> Path:
    """Where the ground truth is kept: one for each size of the data and of the chains."""
    _, num_chains, num_steps = config.reference
    rows = f"-{config.num_rows}" if config.num_rows else ""
    return folder / f"gp-{config.name}{rows}-reference-{num_chains}x{num_steps}.npz"


def prepare(config: Config, folder: Path, num_jobs: int) -> None:
    """Make the ground truth, unless it exists."""
    path = reference_path(config, folder)
    if path.exists():
        return
    num_evals, num_chains, num_steps = config.reference
    initial = paper_gp_initial(0, dimension=config.dimension)
    draws, r_hat = ground_truth(
        make_target(config.num_rows, config.approximation),
        initial,
        num_evals=num_evals,
        num_chains=num_chains,
        num_steps=num_steps,
        max_r_hat=config.max_r_hat,
        num_jobs=num_jobs,
    )
    unfinished = path.with_suffix(".unfinished.npz")
    np.savez_compressed(unfinished, draws=draws.astype(np.float32), r_hat=r_hat)
    unfinished.replace(path)  # a killed process leaves no half-written file


def measure(config: Config, task: Task, folder: Path) -> list[Row]:
    """The rows of one run."""
    with np.load(reference_path(config, folder)) as file:
        draws = file["draws"].astype(np.float64)
    target, initial = (
        make_target(config.num_rows, config.approximation),
        paper_gp_initial(task.seed, dimension=config.dimension),
    )
    if task.method == EXACT:
        return _rows_of_draws(task, draws)
    measured = ReferenceDraws(draws)
    if task.method in (SMC, DEFAULT):
        budget = task.num_iterations * task.num_particles
        return trajectory(
            task, make_budgeted(task.method), target.log_prob, initial, measured, watch=False, max_evals=budget
        )
    if task.method in CHAINS:
        method, path = make_chains(task, config.burn_in), _checkpoint_path(config, task, folder)
        return trajectory(task, method, target.log_prob, initial, measured, burn_in=config.burn_in, checkpoint=path)
    return trajectory(task, make_sampler(task, initial), target.log_prob, initial, measured)


def _checkpoint_path(config: Config, task: Task, folder: Path) -> Path:
    """The file that keeps chains until they have ended: with the full burn-in that takes hours."""
    path = reference_path(config, folder)
    return path.with_name(f"{path.stem}-{task.method}-{config.burn_in}-{task.num_iterations}-{task.seed}.run")


def _rows_of_draws(task: Task, draws: Array) -> list[Row]:
    """Errors of as many draws of the ground truth, compared with the rest of it."""
    order = np.random.default_rng([task.seed, 2]).permutation(len(draws))
    few, rest = draws[order[: task.num_particles]], draws[order[task.num_particles :]]
    return exact_rows(task, few, ReferenceDraws(rest))


def plot(table: Table) -> Figure:
    """Figure 4: against iterations excluding the burn-in, and against all evaluations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, along, title in zip(
        panels, ("iteration", "evaluations"), ("excluding burn-in", "all evaluations counted"), strict=True
    ):
        convergence(axes, table, list_curves(table, PAPER), largest_size(table), along)
        finish(axes, title, f"{along.rstrip('s')}s", "log10 MMD²", logarithmic=True)
    name_lines(panels[1])
    return figure


def claims(table: Table) -> list[Claim]:
    """Section 5.4."""
    ours = {"kernel curve": Curve(KERNEL_CURVE, PAPER), "interpolant, package defaults": Curve(INTERPOLANT, OURS)}
    return converges_fastest(table, ours, list_chains(table), largest_size(table), "Fig. 4")


def _summarize(table: Table) -> list[list[str]]:
    """Final values of all methods."""
    return summary(table, list_curves(table, PAPER), largest_size(table))


_common = partial(
    Experiment, tasks=tasks, measure=measure, plot=plot, claims=claims, summary=_summarize, more={}, prepare=prepare
)
_TITLE = "Gaussian process classification"
GP_GLASS = _common(
    name="gp-glass", title=f"Figure 4(a): {_TITLE}, Glass, 9 dimensions", sizes=_sizes("ep", is_glass=True)
)
GP_SUSY = _common(
    name="gp-susy", title=f"Figure 4(b): {_TITLE}, SUSY, 18 dimensions", sizes=_sizes("ep", is_glass=False)
)
GP_GLASS_LAPLACE = _common(
    name="gp-glass-laplace",
    title=f"Figure 4(a) with Laplace's approximation: {_TITLE}, Glass, 9 dimensions",
    sizes=_sizes("laplace", is_glass=True),
)
GP_SUSY_LAPLACE = _common(
    name="gp-susy-laplace",
    title=f"Figure 4(b) with Laplace's approximation: {_TITLE}, SUSY, 18 dimensions",
    sizes=_sizes("laplace", is_glass=False),
)
