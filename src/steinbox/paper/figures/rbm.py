r"""Figure 3: a restricted Boltzmann machine in 20 dimensions, against adaptive Markov chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox import baselines
from steinbox.paper.claims import Claim, Finding, below
from steinbox.paper.experiment import Experiment
from steinbox.paper.figures import tuned
from steinbox.paper.figures.drawing import CHAINS, DEFAULT, EXACT, INTERPOLANT, KAMH, KERNEL_CURVE, KHMC, SMC
from steinbox.paper.figures.gmm import OURS, PAPER, make_sampler
from steinbox.paper.figures.panels import (
    EARLY_SHARE,
    Curve,
    against_evaluations,
    early,
    final,
    four_panels,
    largest_size,
    summary,
)
from steinbox.paper.figures.settings import parse_options
from steinbox.paper.measures import SphericalMixture
from steinbox.paper.table import Row, Seeds, Table, Task
from steinbox.paper.targets import paper_rbm, paper_rbm_initial
from steinbox.paper.trajectory import exact_rows, trajectory
from steinbox.samplers import Method
from steinbox.samplers.adaptive import AdaptiveImportanceSampling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_HISTORY = {KAMH: 200, KHMC: 600}  # points of the history to learn a proposal from


@dataclass(frozen=True)
class Config:
    """How much is run. Every seed is another machine: the positions of its modes differ much."""

    num_seeds: int
    num_iterations: int
    burn_in: int
    num_interpolant_iterations: int = 200
    sizes: tuple[int, ...] = (20, 50, 100)


SIZES = {
    "miniature": Config(2, 12, 6, num_interpolant_iterations=4, sizes=(20, 30)),
    "quick": Config(2, 300, 600, num_interpolant_iterations=100, sizes=(50, 100)),
    "full": Config(20, 2000, 10_000),
}
READINGS = {
    "learning rate 0.1": PAPER,
    "best learning rate": tuned.RBM[KERNEL_CURVE].rate,
    "best learning rate and bandwidth": tuned.RBM[KERNEL_CURVE].all,
}
"""How the paper can be read where it is silent: the setting of AGF-SVGD with its kernel curve."""

_BEST = READINGS["best learning rate"]
THEIR_LAMBDA = "lambda=0.001"  # the regularization in the examples of KHMC's authors


def tasks(config: Config) -> list[Task]:
    """All methods with the largest number of particles, those that are not chains with the others, too.

    The first chains of a large run represent a run of fewer. SMC and the default have as many evaluations as the
    interpolant, SMC also as many as the paper's methods.
    """
    long, short, largest = config.num_iterations, config.num_interpolant_iterations, max(config.sizes)
    everywhere = [(EXACT, "", long), (KERNEL_CURVE, _BEST, long), (INTERPOLANT, OURS, short)]
    everywhere += [(DEFAULT, OURS, short), (SMC, OURS, short), (SMC, OURS, long)]
    burn_in = burn_in_setting(config.burn_in)
    once = [(KERNEL_CURVE, setting, long) for setting in dict.fromkeys(READINGS.values()) if setting != _BEST]
    once += [(method, burn_in, long) for method in CHAINS] + [(KHMC, f"{burn_in} {THEIR_LAMBDA}", long)]
    runs = [*[(run, size) for size in config.sizes for run in everywhere], *[(run, largest) for run in once]]
    return [
        Task(method, setting, size, num_iterations, seed)
        for seed in range(config.num_seeds)
        for (method, setting, num_iterations), size in runs
    ]


def burn_in_setting(num_steps: int) -> str:
    """The setting of chains with a burn-in of so many steps."""
    return f"burn-in {num_steps}"


def measure(config: Config, task: Task, folder: Path) -> list[Row]:
    """The rows of one run."""
    target, initial = paper_rbm(task.seed), paper_rbm_initial(task.seed)
    measured = SphericalMixture.of(target)
    if task.method == EXACT:
        return exact_rows(task, target.sample(task.num_particles, np.random.default_rng([task.seed, 2])), measured)
    if task.method in CHAINS:
        method, sizes = make_chains(task, config.burn_in), config.sizes[:-1]
        return trajectory(task, method, target.log_prob, initial, measured, burn_in=config.burn_in, sizes=sizes)
    if task.method in (SMC, DEFAULT):
        method, budget = make_budgeted(task.method), task.num_iterations * task.num_particles
        return trajectory(task, method, target.log_prob, initial, measured, watch=False, max_evals=budget)
    return trajectory(task, make_sampler(task, initial), target.log_prob, initial, measured)


def make_chains(task: Task, num_burn_in: int) -> Method[Any]:
    """KAMH or KHMC, which learn during the burn-in only."""
    num_steps = num_burn_in + task.num_iterations
    common: dict[str, Any] = {"num_iterations": num_steps, "adaptation": num_burn_in / num_steps}
    if task.method == KAMH:
        return baselines.KAMH(max_history=_MAX_HISTORY[KAMH], **common)
    options = parse_options(task.setting)
    regularization = float(options["lambda"]) if "lambda" in options else None
    return baselines.KHMC(max_history=_MAX_HISTORY[KHMC], regularization=regularization, **common)


def make_budgeted(method: str) -> Method[Any]:
    """A method that has a budget of evaluations, not a number of iterations."""
    return baselines.SMC() if method == SMC else AdaptiveImportanceSampling(stop_early=False)


def list_curves(table: Table, setting: str = _BEST) -> list[Curve]:
    """The methods, AGF-SVGD with this setting; of the chains with several burn-ins the longest is not named."""
    return [Curve(KERNEL_CURVE, setting), *list_chains(table), *[Curve(method, OURS) for method in _OURS]]


def list_chains(table: Table) -> list[Curve]:
    """KAMH and KHMC with every setting they had."""
    runs = {(row.method, row.setting) for row in table if row.method in CHAINS}
    longest = burn_in_setting(max((_num_steps(setting) for _, setting in runs), default=0))
    chains = sorted(runs, key=lambda run: (CHAINS.index(run[0]), -_num_steps(run[1]), len(run[1])))
    return [Curve(*run, ", ".join(run).replace(f", {longest}", "").replace(" lambda", ", λ")) for run in chains]


_OURS = (INTERPOLANT, SMC, DEFAULT)


def _num_steps(setting: str) -> int:
    return int(setting.split()[1])


def plot(table: Table) -> Figure:
    """The four panels of Figure 3; the chains' iterations are counted after the burn-in, as in the paper."""
    return four_panels(table, list_curves(table), largest_size(table))


def plot_evaluations(table: Table) -> Figure:
    """Against evaluations, including the burn-in."""
    return against_evaluations(table, list_curves(table), largest_size(table))


def summarize(table: Table) -> list[list[str]]:
    """Final values of all methods."""
    others = [Curve(KERNEL_CURVE, setting) for setting in dict.fromkeys(READINGS.values()) if setting != _BEST]
    return summary(table, [*others, *list_curves(table)], largest_size(table))


def claims(table: Table) -> list[Claim]:
    """Section 5.3, sentence by sentence."""
    size = largest_size(table)
    burn_ins = list_chains(table)
    ours = {f"kernel curve ({_read_as(setting)})": Curve(KERNEL_CURVE, setting) for setting in READINGS.values()}
    ours["interpolant, package defaults"] = Curve(INTERPOLANT, OURS)
    names = {"mean_mse": "mean", "variance_mse": "variance", "mmd2": "MMD"}

    def compare(metric: str, others: list[Curve]) -> tuple[Finding, ...]:
        return tuple(
            below(
                f"{name} against {other.name}",
                final(table, curve, size, metric),
                final(table, other, size, metric),
            )
            for name, curve in ours.items()
            for other in others
        )

    return [
        *converges_fastest(table, ours, burn_ins, size, "Fig. 3(a)"),
        *[
            Claim(f"AGF-SVGD is best in the {name}", f"Fig. 3({panel})", compare(metric, burn_ins))
            for panel, (metric, name) in zip("bcd", names.items(), strict=True)
        ],
    ]


def _read_as(setting: str) -> str:
    """The readings that have this setting."""
    return ", ".join(name for name, each in READINGS.items() if each == setting)


def converges_fastest(table: Table, ours: dict[str, Curve], others: list[Curve], size: int, source: str) -> list[Claim]:
    """AGF-SVGD against chains without their burn-in: after a tenth of the iterations, and at the end."""
    measures: dict[str, Callable[[Curve], Seeds]] = {
        "after a tenth of the iterations": lambda curve: early(table, curve, size, EARLY_SHARE),
        "at the end": lambda curve: final(table, curve, size),
    }
    return [
        Claim(
            f"AGF-SVGD converges fastest, excluding the chains' burn-in ({when})",
            source,
            tuple(
                below(f"{name} against {other.name}", measure(curve), measure(other))
                for name, curve in ours.items()
                for other in others
            ),
        )
        for when, measure in measures.items()
    ]


RBM = Experiment(
    name="rbm",
    title="Figure 3: a restricted Boltzmann machine in 20 dimensions",
    sizes=SIZES,
    tasks=tasks,
    measure=measure,
    plot=plot,
    claims=claims,
    summary=summarize,
    more={"evaluations": plot_evaluations},
)
