r"""Figure 1: which surrogate is best for a Gaussian target in two dimensions.

The target is :math:`N(0, 2 I)`, the surrogate :math:`N(\mu_\rho, \sigma_\rho I)`: variances, like the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox import baselines, samplers, surrogates
from steinbox.common.arrays import Array
from steinbox.densities.gaussian import Gaussian
from steinbox.paper.claims import Claim, Finding, below, log10, not_above, plus_minus
from steinbox.paper.experiment import Experiment
from steinbox.paper.figures.drawing import EXACT, GF_SVGD, IMPORTANCE, SVGD, color, finish, legend, level
from steinbox.paper.figures.flow import START, plot_flow
from steinbox.paper.figures.settings import paper_settings
from steinbox.paper.hybrid import Hybrid
from steinbox.paper.measures import SphericalMixture
from steinbox.paper.table import Row, Seeds, Table, Task
from steinbox.paper.targets import paper_gaussian, paper_gaussian_surrogate
from steinbox.paper.trajectory import exact_rows, trajectory
from steinbox.samplers import GFSVGD, Method

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HYBRID = "hybrid"
_VARIANCE = 2.0
_RULES = ("paper", "liu-wang", "median")
_FARTHEST = 8.0  # the squared distance of panel (d)
_FLAT = "ratio=inf"  # the flat surrogate is nowhere centered
_BEST = 0.5  # log10 of the ratio of variances that the paper finds best


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
    grid = dict.fromkeys(_surrogate(*place) for place in product(config.distances, config.ratios))
    proposals = [setting for setting in grid if setting != _FLAT]
    wider = [f"{rule} {_surrogate(*place)}" for rule in _RULES[1:] for place in product((0.0, _FARTHEST), (_BEST,))]
    runs = (
        [(EXACT, "")]
        + [(IMPORTANCE, setting) for setting in proposals]
        + [(SVGD, rule) for rule in _RULES]
        + [(GF_SVGD, f"paper {setting}") for setting in grid]
        + [(GF_SVGD, setting) for setting in wider]
        + [(HYBRID, f"paper share={share:g}") for share in config.shares]
    )
    return [
        Task(method, setting, config.num_particles, config.num_iterations, seed)
        for method, setting in runs
        for seed in range(config.num_seeds)
    ]


def _surrogate(distance: float, ratio: float) -> str:
    return f"distance={distance:g} ratio={ratio:g}" if np.isfinite(ratio) else _FLAT


def measure(config: Config, task: Task, folder: Path) -> list[Row]:
    """The rows of one run."""
    target, truth = paper_gaussian(), SphericalMixture(np.zeros((1, 2)), np.ones(1), _VARIANCE)
    if task.method == EXACT:
        return exact_rows(task, target.sample(task.num_particles, np.random.default_rng([task.seed, 1])), truth)
    method, initial = _sampler(task), _proposal(task.setting) if task.method == IMPORTANCE else START
    return trajectory(task, method, target.log_prob, initial, truth, score=target.score, watch=False)


def _sampler(task: Task) -> Method[Any]:
    """The method with its setting: a bandwidth rule, and where and how wide the surrogate is."""
    if task.method == IMPORTANCE:
        return baselines.ImportanceSampling(num_iterations=1, proposal=_proposal(task.setting))
    common = paper_settings(task.num_iterations, task.setting.split()[0])
    if task.method == SVGD:
        return samplers.SVGD(**common)
    if task.method == HYBRID:
        return Hybrid(share=float(_options(task.setting)["share"]), **common)
    is_flat = _options(task.setting)["ratio"] == "inf"
    return GFSVGD(surrogate=surrogates.Flat() if is_flat else _proposal(task.setting), **common)


def _proposal(setting: str) -> Gaussian:
    options = {name: float(value) for name, value in _options(setting).items()}
    return paper_gaussian_surrogate(options["distance"], variance=_VARIANCE * 10 ** options["ratio"])


# -- the figure --------------------------------------------------------------------------------------------------------


def plot(table: Table) -> Figure:
    """The four panels of Figure 1."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 4), layout="constrained")
    panels = figure.subplots(1, 4)
    names = {"mmd2": "log10 MMD²", "mean_mse": "log10 MSE of the mean", "variance_mse": "log10 MSE of the variance"}
    for axes, (metric, name) in zip(panels, names.items(), strict=False):
        for distance in _distances(table):
            _along_ratio(axes, table, GF_SVGD, "paper ", distance, metric, f"‖μρ − μ‖² = {distance:g}")
        finish(axes, f"({'abc'[list(names).index(metric)]}) {name}", "log10 σρ/σ   (○: ρ = 1)", name)
    _along_ratio(panels[3], table, GF_SVGD, "paper ", _FARTHEST, "mmd2", GF_SVGD)
    _along_ratio(panels[3], table, IMPORTANCE, "", _FARTHEST, "mmd2", IMPORTANCE)
    level(panels[3], table.where(method=SVGD, setting="paper", metric="mmd2").last(), SVGD)
    level(panels[3], table.where(method=EXACT, metric="mmd2"), EXACT)
    finish(panels[3], f"(d) ‖μρ − μ‖² = {_FARTHEST:g}", "log10 σρ/σ   (○: ρ = 1)", "log10 MMD²")
    legend(figure, panels)
    return figure


def _along_ratio(axes: Axes, table: Table, method: str, rule: str, distance: float, metric: str, label: str) -> None:
    """The metric along the surrogate's variance; the flat surrogate is a circle beyond the largest."""
    ratios = [ratio for ratio in _ratios(table) if np.isfinite(ratio)]
    values = {ratio: _final(table, method, f"{rule}{_surrogate(distance, ratio)}", metric) for ratio in ratios}
    means = [np.mean(list(log10(values[ratio]).values())) for ratio in ratios]
    (drawn,) = axes.plot(ratios, means, marker=".", label=label, linewidth=1.3, color=color(label))
    flat = table.where(method=method, setting=f"{rule}{_surrogate(distance, np.inf)}", metric=metric).last()
    if len(flat):
        mean = np.mean(list(log10(flat.by_seed()).values()))
        axes.plot([max(ratios) + 0.35], [mean], "o", mfc="none", color=drawn.get_color())


def _distances(table: Table) -> list[float]:
    return sorted({float(_option(row, "distance", "0")) for row in table.where(method=GF_SVGD)})


def _ratios(table: Table) -> list[float]:
    return sorted({float(_option(row, "ratio", "inf")) for row in table.where(method=GF_SVGD)})


def _option(row: Row, name: str, default: str) -> str:
    return _options(row.setting).get(name, default)


def _options(setting: str) -> dict[str, str]:
    return dict(part.split("=") for part in setting.split() if "=" in part)


def _final(table: Table, method: str, setting: str, metric: str) -> Seeds:
    return table.where(method=method, setting=setting, metric=metric).last().by_seed()


def plot_beyond(table: Table) -> Figure:
    """The bandwidth rule, and the hybrid's variance."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    first, second = figure.subplots(1, 2)
    settings = {SVGD: "{}", f"{GF_SVGD}, σρ = 3σ": f"{{}} {_surrogate(0, _BEST)}"}
    settings |= {f"{GF_SVGD}, σρ = 3σ, ‖μρ−μ‖² = 8": f"{{}} {_surrogate(_FARTHEST, _BEST)}"}
    for label, setting in settings.items():
        method = label.split(",")[0]
        values = [log10(_final(table, method, setting.format(rule), "mmd2")) for rule in _RULES]
        means, spreads = zip(*[(np.mean(list(v.values())), np.std(list(v.values()))) for v in values], strict=True)
        first.errorbar(_RULES, means, yerr=spreads, marker="o", capsize=3, label=label, linewidth=1)
    level(first, table.where(method=EXACT, metric="mmd2"), EXACT)
    finish(first, "The bandwidth rule", "rule", "log10 MMD²")
    first.legend(fontsize=8, frameon=False)
    shares, ratios = _hybrid(table)
    second.errorbar(shares, [r.mean() for r in ratios], yerr=[r.std() for r in ratios], marker="o", capsize=3)
    second.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
    finish(second, "SVGD blended with ρ = 1", "share λ of ρ = 1", "estimated / exact variance")
    return figure


def _hybrid(table: Table) -> tuple[list[float], list[Array]]:
    """The shares, from plain SVGD to the flat surrogate alone, and the variance ratios of all seeds."""
    shares = sorted({float(_option(row, "share", "0")) for row in table.where(method=HYBRID)})
    runs = [(SVGD, "paper"), *[(HYBRID, f"paper share={share:g}") for share in shares]]
    runs.append((GF_SVGD, f"paper {_FLAT}"))
    values = [_final(table, method, setting, "variance_ratio") for method, setting in runs]
    return [0.0, *shares, 1.0], [np.array(list(value.values())) for value in values]


# -- the claims --------------------------------------------------------------------------------------------------------


def claims(table: Table) -> list[Claim]:
    """Section 5.1, sentence by sentence."""
    get = partial(_final, table)

    def mmd(method: str, setting: str) -> Seeds:
        return log10(get(method, setting, "mmd2"))

    exact, flat = mmd(EXACT, ""), f"paper {_FLAT}"
    best = {rule: mmd(GF_SVGD, f"{rule} {_surrogate(_FARTHEST, _BEST)}") for rule in _RULES}
    matched = mmd(GF_SVGD, f"paper {_surrogate(0, _BEST)}")
    one = dict.fromkeys(exact, 1.0)
    return [
        Claim(
            "the best σρ is near 3σ (log10 ratio 0.5), in MMD",
            "Fig. 1(a)",
            tuple(_lowest(table, distance) for distance in _distances(table)),
        ),
        Claim(
            "matching means are better",
            "Fig. 1(a)",
            (below("‖μρ−μ‖² = 0 against 8, σρ = 3σ", matched, best["paper"]),),
        ),
        Claim(
            "ρ = 1 does reasonably well in MMD and for the mean: no worse than exact Monte Carlo",
            "Fig. 1(a, b)",
            (
                not_above("log10 MMD²", mmd(GF_SVGD, flat), exact),
                not_above("log10 MSE of the mean", log10(get(GF_SVGD, flat, "mean_mse")), _logged(get, "mean_mse")),
            ),
        ),
        Claim(
            "ρ = 1 over-estimates the variance",
            "Fig. 1(c)",
            (below("1 against estimated / exact variance", one, get(GF_SVGD, flat, "variance_ratio")),),
        ),
        Claim(
            "SVGD under-estimates the variance",
            "Section 5.1",
            tuple(below(f"bandwidth rule: {rule}", get(SVGD, rule, "variance_ratio"), one) for rule in _RULES),
        ),
        Claim(
            "GF-SVGD is better than importance sampling for every ρ",
            "Fig. 1(d)",
            tuple(_every_rho(table, distance) for distance in _distances(table)),
        ),
        Claim(
            "at the best σρ, GF-SVGD is better than exact Monte Carlo",
            "Fig. 1(d)",
            tuple(below(f"bandwidth rule: {rule}", best[rule], exact) for rule in _RULES),
        ),
        Claim(
            "at the best σρ, GF-SVGD is better than SVGD",
            "Fig. 1(d)",
            tuple(below(f"bandwidth rule: {rule}", best[rule], mmd(SVGD, rule)) for rule in _RULES),
        ),
        Claim("a hybrid of SVGD and ρ = 1 has a more calibrated variance", "Section 5.1", (_calibrated(table),)),
    ]


def _logged(get: partial[Seeds], metric: str) -> Seeds:
    return log10(get(EXACT, "", metric))


def _lowest(table: Table, distance: float) -> Finding:
    """Where the mean of log10 MMD² has its minimum: one step of the grid from 0.5 is near."""
    means = {
        ratio: np.mean(list(log10(_final(table, GF_SVGD, f"paper {_surrogate(distance, ratio)}", "mmd2")).values()))
        for ratio in _ratios(table)
    }
    lowest = min(means, key=lambda ratio: means[ratio])
    return Finding(
        f"‖μρ−μ‖² = {distance:g}",
        f"lowest at {lowest:g} ({means[lowest]:.2f}; at 0: {means[0.0]:.2f})",
        bool(abs(lowest - _BEST) <= 0.25),
        is_one_seed=_is_one_seed(table),
    )


def _every_rho(table: Table, distance: float) -> Finding:
    """Every surrogate at this distance that can be a proposal."""
    findings = [
        below(
            f"{ratio:g}",
            log10(_final(table, GF_SVGD, f"paper {_surrogate(distance, ratio)}", "mmd2")),
            log10(_final(table, IMPORTANCE, _surrogate(distance, ratio), "mmd2")),
        )
        for ratio in _ratios(table)
        if np.isfinite(ratio)
    ]
    lost = [f"; not at log10 σρ/σ = {finding.setting}: {finding.measured}" for finding in findings if not finding.holds]
    measured = f"better for {len(findings) - len(lost)} of {len(findings)} surrogates{''.join(lost)}"
    return Finding(f"‖μρ−μ‖² = {distance:g}", measured, not lost, is_one_seed=_is_one_seed(table))


def _calibrated(table: Table) -> Finding:
    """The share whose mean variance is closest to the truth, against SVGD."""
    shares, ratios = _hybrid(table)
    inner = range(1, len(shares) - 1)
    best = min(inner, key=lambda k: abs(ratios[k].mean() - 1))
    text = f"λ = {shares[best]:g}: {ratios[best].mean():.2f} ± {ratios[best].std():.2f}"
    svgd = plus_minus(_final(table, SVGD, "paper", "variance_ratio"))
    measured = f"estimated / exact variance: {text}, λ = 0: {svgd}, λ = 1: {ratios[-1].mean():.2f}"
    is_closer = bool(abs(ratios[best].mean() - 1) < abs(ratios[0].mean() - 1))
    return Finding("paper's bandwidth", measured, is_closer, is_one_seed=_is_one_seed(table))


def _is_one_seed(table: Table) -> bool:
    return len({row.seed for row in table}) == 1


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
