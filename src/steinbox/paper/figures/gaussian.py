r"""Figure 1: which surrogate is best for a Gaussian target in two dimensions.

The target is :math:`N(0, 2 I)`, the surrogate :math:`N(\mu_\rho, \sigma_\rho I)`: variances, like the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox import baselines, surrogates
from steinbox.densities.gaussian import Gaussian
from steinbox.paper.claims import log10
from steinbox.paper.experiment import Experiment
from steinbox.paper.figures.drawing import EXACT, GF_SVGD, IMPORTANCE, SVGD, color, finish, legend, level
from steinbox.paper.figures.flow import START, plot_flow
from steinbox.paper.figures.gaussian_claims import claims
from steinbox.paper.figures.gaussian_rows import (
    BEST_RATIO,
    FARTHEST,
    FLAT,
    HYBRID,
    RULES,
    final_values,
    hybrid_ratios,
    list_distances,
    list_ratios,
    parse_options,
    surrogate_setting,
)
from steinbox.paper.figures.settings import paper_settings
from steinbox.paper.measures import SphericalMixture
from steinbox.paper.table import Row, Table, Task
from steinbox.paper.targets import paper_gaussian, paper_gaussian_surrogate
from steinbox.paper.trajectory import exact_rows, trajectory
from steinbox.samplers import Method, stein
from steinbox.samplers.stein import GFSVGD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TARGET_VARIANCE = 2.0


@dataclass(frozen=True)
class Config:
    """How much is run. ``ratios`` are log10 of the variances' ratio, infinity is the flat surrogate."""

    num_seeds: int
    num_iterations: int
    distances: tuple[float, ...] = (0.0, 2.0, 8.0)
    ratios: tuple[float, ...] = (-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, np.inf)
    shares: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.5)
    num_particles: int = 100


SIZES = {
    "miniature": Config(2, 40, distances=(0.0, 8.0), ratios=(0.0, 0.5, np.inf), shares=(0.1,), num_particles=30),
    "quick": Config(3, 500, ratios=(-0.25, 0.0, 0.25, 0.5, 0.75, 1.0, np.inf)),
    "full": Config(20, 1000),
}


def tasks(config: Config) -> list[Task]:
    """SVGD and GF-SVGD with the paper's bandwidth on the whole grid; the other rules where it matters."""
    grid = dict.fromkeys(surrogate_setting(*place) for place in product(config.distances, config.ratios))
    proposals = [setting for setting in grid if setting != FLAT]
    best = [surrogate_setting(distance, BEST_RATIO) for distance in (0.0, FARTHEST)]
    other_rules = [f"{rule} {setting}" for rule in RULES[1:] for setting in best]
    runs = (
        [(EXACT, "")]
        + [(IMPORTANCE, setting) for setting in proposals]
        + [(SVGD, rule) for rule in RULES]
        + [(GF_SVGD, f"paper {setting}") for setting in grid]
        + [(GF_SVGD, setting) for setting in other_rules]
        + [(HYBRID, f"paper share={share:g}") for share in config.shares]
    )
    return [
        Task(method, setting, config.num_particles, config.num_iterations, seed)
        for method, setting in runs
        for seed in range(config.num_seeds)
    ]


def measure(config: Config, task: Task, folder: Path) -> list[Row]:
    """The rows of one run."""
    target, truth = paper_gaussian(), SphericalMixture(np.zeros((1, 2)), np.ones(1), _TARGET_VARIANCE)
    if task.method == EXACT:
        return exact_rows(task, target.sample(task.num_particles, np.random.default_rng([task.seed, 1])), truth)
    method, initial = _make_sampler(task), _make_proposal(task.setting) if task.method == IMPORTANCE else START
    return trajectory(task, method, target.log_prob, initial, truth, score=target.score, watch=False)


def _make_sampler(task: Task) -> Method[Any]:
    """The method with its setting: a bandwidth rule, and where and how wide the surrogate is."""
    if task.method == IMPORTANCE:
        return baselines.ImportanceSampling(num_iterations=1, proposal=_make_proposal(task.setting))
    common = paper_settings(task.num_iterations, task.setting.split()[0])
    if task.method == SVGD:
        return stein.SVGD(**common)
    if task.method == HYBRID:
        return stein.SVGD(flat_share=float(parse_options(task.setting)["share"]), **common)
    is_flat = parse_options(task.setting)["ratio"] == "inf"
    return GFSVGD(surrogate=surrogates.Flat() if is_flat else _make_proposal(task.setting), **common)


def _make_proposal(setting: str) -> Gaussian:
    options = {name: float(value) for name, value in parse_options(setting).items()}
    return paper_gaussian_surrogate(options["distance"], variance=_TARGET_VARIANCE * 10 ** options["ratio"])


def plot(table: Table) -> Figure:
    """The four panels of Figure 1."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 4), layout="constrained")
    panels = figure.subplots(1, 4)
    names = {"mmd2": "log10 MMD²", "mean_mse": "log10 MSE of the mean", "variance_mse": "log10 MSE of the variance"}
    for axes, (metric, name) in zip(panels, names.items(), strict=False):
        for distance in list_distances(table):
            _along_ratio(axes, table, GF_SVGD, "paper ", distance, metric, f"‖μρ − μ‖² = {distance:g}")
        finish(axes, f"({'abc'[list(names).index(metric)]}) {name}", "log10 σρ/σ   (○: ρ = 1)", name)
    _along_ratio(panels[3], table, GF_SVGD, "paper ", FARTHEST, "mmd2", GF_SVGD)
    _along_ratio(panels[3], table, IMPORTANCE, "", FARTHEST, "mmd2", IMPORTANCE)
    level(panels[3], table.where(method=SVGD, setting="paper", metric="mmd2").last(), SVGD)
    level(panels[3], table.where(method=EXACT, metric="mmd2"), EXACT)
    finish(panels[3], f"(d) ‖μρ − μ‖² = {FARTHEST:g}", "log10 σρ/σ   (○: ρ = 1)", "log10 MMD²")
    legend(figure, panels)
    return figure


def _along_ratio(axes: Axes, table: Table, method: str, rule: str, distance: float, metric: str, label: str) -> None:
    """The metric along the surrogate's variance; the flat surrogate is a circle beyond the largest."""
    ratios = [ratio for ratio in list_ratios(table) if np.isfinite(ratio)]
    settings = {ratio: f"{rule}{surrogate_setting(distance, ratio)}" for ratio in ratios}
    values = {ratio: final_values(table, method, settings[ratio], metric) for ratio in ratios}
    means = [np.mean(list(log10(values[ratio]).values())) for ratio in ratios]
    (drawn,) = axes.plot(ratios, means, marker=".", label=label, linewidth=1.3, color=color(label))
    flat = table.where(method=method, setting=f"{rule}{surrogate_setting(distance, np.inf)}", metric=metric).last()
    if len(flat):
        mean = np.mean(list(log10(flat.by_seed()).values()))
        axes.plot([max(ratios) + 0.35], [mean], "o", mfc="none", color=drawn.get_color())


def plot_beyond(table: Table) -> Figure:
    """The bandwidth rule, and the hybrid's variance."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    first, second = figure.subplots(1, 2)
    settings = {SVGD: "{}", f"{GF_SVGD}, σρ = 3σ": f"{{}} {surrogate_setting(0, BEST_RATIO)}"}
    settings |= {f"{GF_SVGD}, σρ = 3σ, ‖μρ−μ‖² = 8": f"{{}} {surrogate_setting(FARTHEST, BEST_RATIO)}"}
    for label, setting in settings.items():
        method = label.split(",")[0]
        values = [log10(final_values(table, method, setting.format(rule), "mmd2")) for rule in RULES]
        means, spreads = zip(*[(np.mean(list(v.values())), np.std(list(v.values()))) for v in values], strict=True)
        first.errorbar(RULES, means, yerr=spreads, marker="o", capsize=3, label=label, linewidth=1)
    level(first, table.where(method=EXACT, metric="mmd2"), EXACT)
    finish(first, "The bandwidth rule", "rule", "log10 MMD²")
    first.legend(fontsize=8, frameon=False)
    shares, ratios = hybrid_ratios(table)
    second.errorbar(shares, [r.mean() for r in ratios], yerr=[r.std() for r in ratios], marker="o", capsize=3)
    second.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
    finish(second, "SVGD blended with ρ = 1", "share λ of ρ = 1", "estimated / exact variance")
    return figure


GAUSSIAN = Experiment(
    name="gaussian",
    title="Figure 1: a Gaussian in two dimensions",
    sizes=SIZES,
    tasks=tasks,
    measure=measure,
    plot=plot,
    claims=claims,
    more={"beyond": plot_beyond, "flow": plot_flow},
)
