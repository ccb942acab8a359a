r"""Figure 2: a mixture of ten Gaussians in 25 dimensions, with and without gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox import baselines, surrogates
from steinbox.densities.gaussian import Gaussian
from steinbox.paper.claims import MAX_SLIGHT, MIN_FAR, Claim, Finding, below, not_above
from steinbox.paper.experiment import Experiment
from steinbox.paper.figures.drawing import (
    ANNEALED_SVGD,
    DEFAULT,
    EXACT,
    GF_AIS,
    GF_SVGD,
    INTERPOLANT,
    KERNEL_CURVE,
    SVGD,
)
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
from steinbox.paper.figures.settings import paper_settings
from steinbox.paper.measures import SphericalMixture
from steinbox.paper.table import Row, Table, Task
from steinbox.paper.targets import paper_gmm, paper_gmm_initial
from steinbox.paper.trajectory import exact_rows, trajectory
from steinbox.samplers import Method, stein
from steinbox.samplers.adaptive import AdaptiveImportanceSampling
from steinbox.samplers.annealing import Schedule
from steinbox.samplers.stein import GFSVGD, AnnealedGFSVGD, AnnealedSVGD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, MEDIAN, OURS = "paper", "median", "package defaults"
_PER_PARTICLE, _SHARED = "paper, step per particle", "paper, step shared"


@dataclass(frozen=True)
class Config:
    """How much is run: all seeds with the paper's settings, fewer with others."""

    num_seeds: int
    num_more_seeds: int
    num_iterations: int
    num_interpolant_iterations: int = 200
    sizes: tuple[int, ...] = (20, 50, 100, 200)


# The interpolant with which the figure was made: no quadratic form, and one move before it is built anew.
ROUND_INTERPOLANT = surrogates.Interpolant(quadratic_variances=(0.0,), max_moves=1)
SIZES = {
    "miniature": Config(2, 2, 12, num_interpolant_iterations=4, sizes=(20, 30)),
    "quick": Config(2, 1, 600, num_interpolant_iterations=100, sizes=(50, 200)),
    "full": Config(20, 5, 3000),
}
_WITH_SIZES = ((SVGD, PAPER), (ANNEALED_SVGD, PAPER), (GF_SVGD, PAPER), (KERNEL_CURVE, PAPER), (GF_AIS, PAPER))
_WITH_ONE = (
    *[(method, MEDIAN) for method in (SVGD, ANNEALED_SVGD, GF_SVGD, KERNEL_CURVE)],
    *[(method, setting) for method in (GF_SVGD, KERNEL_CURVE) for setting in (_PER_PARTICLE, _SHARED)],
)


def tasks(config: Config) -> list[Task]:
    """The paper's methods and settings, the interpolant in the same algorithm, and what the figure does not show.

    The most important come first, and all methods of one seed before the next: whatever is finished can be compared.
    """
    long, short, largest = config.num_iterations, config.num_interpolant_iterations, max(config.sizes)
    everywhere = [(EXACT, "", long), *[(*run, long) for run in _WITH_SIZES], (INTERPOLANT, OURS, short)]
    more = [*[(*run, long) for run in _WITH_ONE], (INTERPOLANT, PAPER, short), (INTERPOLANT, MEDIAN, short)]
    groups = [
        ([(run, largest) for run in (*everywhere, (DEFAULT, OURS, short // 2))], config.num_seeds),
        ([(run, largest) for run in more], config.num_more_seeds),
        ([(run, size) for size in config.sizes if size < largest for run in everywhere], config.num_seeds),
    ]
    return [
        Task(method, setting, size, num_iterations, seed)
        for runs, num_seeds in groups
        for seed in range(min(num_seeds, config.num_seeds))
        for (method, setting, num_iterations), size in runs
    ]


def measure(config: Config, task: Task, folder: Path) -> list[Row]:
    """The rows of one run; every seed has a mixture and a start of its own."""
    target, initial = paper_gmm(task.seed), paper_gmm_initial(task.seed)
    measured = SphericalMixture(np.array([each.mean for each in target.components]), target.weights, 1.0)
    if task.method == EXACT:
        return exact_rows(task, target.sample(task.num_particles, np.random.default_rng([task.seed, 2])), measured)
    method = make_sampler(task, initial)
    budget = task.num_iterations * task.num_particles if task.method == DEFAULT else None
    watch = task.method != DEFAULT
    return trajectory(
        task, method, target.log_prob, initial, measured, score=target.score, watch=watch, max_evals=budget
    )


def make_sampler(task: Task, initial: Gaussian) -> Method[Any]:
    """The method with its setting.

    The paper's: its bandwidth for both kernels, Adam with rate 0.1, temperatures linear to the last step, no rescue of
    stragglers, the parameters' own coordinates. "median": the same with the bandwidth med² for both kernels.
    """
    if task.method == DEFAULT:
        return AdaptiveImportanceSampling(stop_early=False)
    if task.setting == OURS:
        return AnnealedGFSVGD(num_iterations=task.num_iterations, surrogate=ROUND_INTERPOLANT)
    rule = MEDIAN if task.setting == MEDIAN else PAPER
    normalization = {_PER_PARTICLE: "particle", _SHARED: "shared"}.get(task.setting, "coordinate")
    common = paper_settings(task.num_iterations, rule)
    common["optimizer"] = replace(common["optimizer"], normalization=normalization)
    linear, curve = Schedule(fraction=1, power=1), surrogates.KernelCurve(bandwidth=rule)
    builders: dict[str, Callable[[], Method[Any]]] = {
        SVGD: lambda: stein.SVGD(**common),
        ANNEALED_SVGD: lambda: AnnealedSVGD(schedule=linear, **common),
        GF_SVGD: lambda: GFSVGD(surrogate=initial, **common),
        KERNEL_CURVE: lambda: AnnealedGFSVGD(surrogate=curve, schedule=linear, **common),
        INTERPOLANT: lambda: AnnealedGFSVGD(surrogate=ROUND_INTERPOLANT, schedule=linear, **common),
        GF_AIS: lambda: baselines.GFAIS(num_iterations=task.num_iterations, surrogate=curve, schedule=linear),
    }
    return builders[task.method]()


_CURVES = (*[Curve(*run) for run in _WITH_SIZES], Curve(INTERPOLANT, OURS), Curve(DEFAULT, OURS))
ALL_CURVES = (
    *_CURVES,
    *[Curve(*run, f"{run[0]}, {run[1]}") for run in _WITH_ONE],
    *[Curve(INTERPOLANT, setting, f"{INTERPOLANT}, {setting}") for setting in (PAPER, MEDIAN)],
)


def plot(table: Table) -> Figure:
    """The four panels of Figure 2, with the interpolant and the default beside the paper's methods."""
    return four_panels(table, _CURVES, largest_size(table))


def plot_settings(table: Table) -> Figure:
    """The same convergence with other bandwidths and step rules."""
    chosen = (SVGD, GF_SVGD, KERNEL_CURVE, INTERPOLANT)
    named = [Curve(*curve[:2], f"{curve.method}, {curve.setting}") for curve in ALL_CURVES if curve.method in chosen]
    return against_evaluations(table, named, largest_size(table))


def plot_evaluations(table: Table) -> Figure:
    """Against evaluations instead of iterations."""
    return against_evaluations(table, _CURVES, largest_size(table))


def summarize(table: Table) -> list[list[str]]:
    """Final values of all methods."""
    return summary(table, ALL_CURVES, largest_size(table))


def claims(table: Table) -> list[Claim]:
    """Section 5.2, sentence by sentence."""
    size = largest_size(table)

    def end(method: str, setting: str = PAPER) -> dict[int, float]:
        return dict(final(table, Curve(method, setting), size))

    def soon(method: str, setting: str = PAPER) -> dict[int, float]:
        return dict(early(table, Curve(method, setting), size, EARLY_SHARE))

    gradient_free = (
        ("kernel curve", KERNEL_CURVE, PAPER),
        ("kernel curve, bandwidth med²", KERNEL_CURVE, MEDIAN),
        ("interpolant, bandwidth med²", INTERPOLANT, MEDIAN),
        ("interpolant, package defaults", INTERPOLANT, OURS),
    )
    others = (ANNEALED_SVGD, GF_SVGD, KERNEL_CURVE, GF_AIS)
    bandwidths = {"paper's bandwidth": PAPER, "bandwidth med²": MEDIAN}
    return [
        Claim(
            "SVGD converges fastest (after a tenth of the iterations)",
            "Fig. 2(a)",
            tuple(below(f"against {other}", soon(SVGD), soon(other)) for other in others),
        ),
        Claim(
            "A-SVGD is slower in the beginning (after a tenth of the iterations)",
            "Fig. 2(a)",
            tuple(below(name, soon(SVGD, rule), soon(ANNEALED_SVGD, rule)) for name, rule in bandwidths.items()),
        ),
        Claim(
            "A-SVGD catches up with SVGD: at the end at most 0.1 behind",
            "Fig. 2(a, d)",
            tuple(not_above(name, end(ANNEALED_SVGD, rule), end(SVGD, rule), 0.1) for name, rule in bandwidths.items()),
        ),
        Claim(
            f"GF-SVGD is far behind SVGD (by {MIN_FAR})",
            "Fig. 2(a, d)",
            tuple(below(name, end(SVGD, rule), end(GF_SVGD, rule), MIN_FAR) for name, rule in bandwidths.items()),
        ),
        Claim(
            f"AGF-SVGD is far ahead of GF-SVGD (by {MIN_FAR})",
            "Fig. 2(a, d)",
            tuple(below(name, end(method, rule), end(GF_SVGD), MIN_FAR) for name, method, rule in gradient_free),
        ),
        Claim(
            f"AGF-SVGD is only slightly behind SVGD (at most {MAX_SLIGHT})",
            "Fig. 2(a, d)",
            tuple(
                not_above(f"{name}; SVGD: {other} bandwidth", end(method, rule), end(SVGD, other), MAX_SLIGHT)
                for name, method, rule in gradient_free
                for other in (PAPER, MEDIAN)
            ),
        ),
        Claim(
            "AGF-SVGD is ahead of GF-AIS, in MMD",
            "Fig. 2(a, d)",
            tuple(below(name, end(method, rule), end(GF_AIS)) for name, method, rule in gradient_free),
        ),
        *[
            Claim(
                f"AGF-SVGD is ahead of GF-AIS, in the {name}",
                panel,
                tuple(_metric(table, size, metric, label, method, rule) for label, method, rule in gradient_free),
            )
            for metric, name, panel in (("mean_mse", "mean", "Fig. 2(b)"), ("variance_mse", "variance", "Fig. 2(c)"))
        ],
    ]


def _metric(table: Table, size: int, metric: str, label: str, method: str, setting: str) -> Finding:
    first = final(table, Curve(method, setting), size, metric)
    return below(label, first, final(table, Curve(GF_AIS, PAPER), size, metric))


GMM = Experiment(
    name="gmm",
    title="Figure 2: a mixture of ten Gaussians in 25 dimensions",
    sizes=SIZES,
    tasks=tasks,
    measure=measure,
    plot=plot,
    claims=claims,
    summary=summarize,
    more={"evaluations": plot_evaluations, "settings": plot_settings},
)
