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
from steinbox.common.arrays import Array
from steinbox.densities.gaussian import Gaussian
from steinbox.paper.experiment import Experiment
from steinbox.paper.figures.drawing import (
    EXACT,
    GF_SVGD,
    IMPORTANCE,
    SVGD,
    band,
    color,
    finish,
    level,
    name_lines,
    two_standard_errors,
)
from steinbox.paper.figures.flow import plot_flow
from steinbox.paper.figures.gaussian_claims import claims
from steinbox.paper.figures.gaussian_rows import (
    BEST_RATIO,
    DEFAULT_START,
    FARTHEST,
    FLAT,
    HYBRID,
    STARTS,
    final_values,
    hybrid_ratios,
    list_distances,
    list_ratios,
    list_starts,
    surrogate_setting,
    with_start,
)
from steinbox.paper.figures.settings import RULES, paper_settings, parse_options
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
    starts: tuple[float, ...] = STARTS
    num_particles: int = 100


SIZES = {
    "miniature": Config(
        2, 40, distances=(0.0, 8.0), ratios=(0.0, 0.5, np.inf), shares=(0.1,), starts=(1.0, 3.0), num_particles=30
    ),
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
        + [(GF_SVGD, with_start(f"paper {FLAT}", start)) for start in config.starts if start != DEFAULT_START]
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
    start = Gaussian(np.zeros(2), std=float(parse_options(task.setting).get("start", DEFAULT_START)))
    initial = _make_proposal(task.setting) if task.method == IMPORTANCE else start
    return trajectory(task, _make_sampler(task), target.log_prob, initial, truth, score=target.score, watch=False)


def _make_sampler(task: Task) -> Method[Any]:
    """The method with its setting: a bandwidth rule, and where and how wide the surrogate is."""
    if task.method == IMPORTANCE:
        return baselines.ImportanceSampling(num_iterations=1, proposal=_make_proposal(task.setting))
    common = paper_settings(task.num_iterations, task.setting)
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

    figure = Figure(figsize=(7.2, 5.6), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    names = {"mmd2": "log10 MMD²", "mean_mse": "log10 MSE of the mean", "variance_mse": "log10 MSE of the variance"}
    for axes, letter, (metric, name) in zip(panels, "abc", names.items(), strict=False):
        for distance in list_distances(table):
            _along_ratio(axes, table, GF_SVGD, "paper ", distance, metric, f"‖μρ − μ‖² = {distance:g}")
        finish(axes, f"({letter}) {name}", "log10 σρ/σ   (○: ρ = 1)", name)
    _along_ratio(panels[3], table, GF_SVGD, "paper ", FARTHEST, "mmd2", f"{GF_SVGD}, ‖μρ − μ‖² = {FARTHEST:g}")
    _along_ratio(panels[3], table, IMPORTANCE, "", FARTHEST, "mmd2", IMPORTANCE)
    level(panels[3], table.where(method=SVGD, setting="paper", metric="mmd2").last(), SVGD)
    level(panels[3], table.where(method=EXACT, metric="mmd2"), EXACT)
    finish(panels[3], "(d) against other methods", "log10 σρ/σ   (○: ρ = 1)", "log10 MMD²")
    for axes in (panels[1], panels[3]):
        name_lines(axes)
    return figure


def _along_ratio(axes: Axes, table: Table, method: str, rule: str, distance: float, metric: str, label: str) -> None:
    """The metric along the surrogate's variance; the flat surrogate is a circle beyond the largest."""
    ratios = [ratio for ratio in list_ratios(table) if np.isfinite(ratio)]
    settings = [f"{rule}{surrogate_setting(distance, ratio)}" for ratio in ratios]
    _band_of_settings(axes, table, method, settings, np.array(ratios), metric, label)
    flat = table.where(method=method, setting=f"{rule}{FLAT}", metric=metric).last()
    if len(flat):
        values = np.log10([row.value for row in flat])
        place = max(ratios) + 0.35
        axes.errorbar(
            [place], values.mean(), yerr=two_standard_errors(values), fmt="o", mfc="white", capsize=2, color="#777777"
        )


def _band_of_settings(
    axes: Axes, table: Table, method: str, settings: list[str], x: Array, metric: str, label: str
) -> None:
    """Log10 of the metric at the end of the runs with these settings."""
    values = [np.log10(list(final_values(table, method, setting, metric).values())) for setting in settings]
    band(axes, x, values, label)


def plot_beyond(table: Table) -> Figure:
    """The bandwidth rule, the start of the flat surrogate, and the hybrid's variance."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 6.8), layout="constrained")
    first, second, third = figure.subplots(3, 1)
    settings = {SVGD: "{}", f"{GF_SVGD}, σρ = 3σ": f"{{}} {surrogate_setting(0, BEST_RATIO)}"}
    settings |= {f"{GF_SVGD}, σρ = 3σ, ‖μρ−μ‖² = 8": f"{{}} {surrogate_setting(FARTHEST, BEST_RATIO)}"}
    for number, (label, setting) in enumerate(settings.items()):
        rules = [setting.format(rule) for rule in RULES]
        _band_of_settings(first, table, label.split(",")[0], rules, np.arange(3.0), "mmd2", label)
        first.lines[-1].set_linestyle(("-", "-", "--")[number])
    level(first, table.where(method=EXACT, metric="mmd2"), EXACT)
    first.set_xticks(range(3), ["med²/(2 log(n + 1)),\nthe paper's", "med²/log(n + 1)", "med²"])
    finish(first, "The bandwidth rule", "", "log10 MMD²")
    starts = list_starts(table)
    for metric, label in (("mmd2", "MMD²"), ("mean_mse", "MSE of the mean")):
        flat = [with_start(f"paper {FLAT}", start) for start in starts]
        _band_of_settings(second, table, GF_SVGD, flat, np.array(starts), metric, label)
    level(second, table.where(method=EXACT, metric="mmd2"), f"{EXACT}, MMD²")
    finish(second, "ρ = 1 from N(0, s² I)", "s", "log10")
    shares, ratios = hybrid_ratios(table)
    band(third, np.array(shares), ratios, "hybrid")
    third.axhline(1.0, color=color(EXACT), linewidth=1.0, linestyle="--", label="exact")
    finish(third, "SVGD blended with ρ = 1", "share λ of ρ = 1", "estimated / exact variance")
    for axes in (first, second, third):
        name_lines(axes)
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
