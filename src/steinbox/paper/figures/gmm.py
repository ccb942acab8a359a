r"""Figure 2: a mixture of ten Gaussians in 25 dimensions, with and without gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox import baselines, surrogates
from steinbox.densities.gaussian import Gaussian
from steinbox.maps.coordinates import Plain, Whitened
from steinbox.paper.claims import MAX_SLIGHT, MIN_FAR, Claim, Finding, Judge, below, not_above
from steinbox.paper.experiment import Experiment
from steinbox.paper.figures import tuned
from steinbox.paper.figures.drawing import (
    ANNEALED_SVGD,
    DEFAULT,
    EXACT,
    GF_AIS,
    GF_SVGD,
    INTERPOLANT,
    KERNEL_CURVE,
    SVGD,
    band,
    finish,
    level,
    name_lines,
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
from steinbox.paper.figures.settings import paper_settings, parse_options, rule_of
from steinbox.paper.measures import SphericalMixture
from steinbox.paper.table import Row, Seeds, Table, Task
from steinbox.paper.targets import paper_gmm, paper_gmm_initial
from steinbox.paper.trajectory import exact_rows, trajectory
from steinbox.samplers import Method, stein
from steinbox.samplers.adaptive import AdaptiveImportanceSampling
from steinbox.samplers.annealing import Schedule
from steinbox.samplers.stein import GFSVGD, AnnealedGFSVGD, AnnealedSVGD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, MEDIAN, OURS = "paper", "median", "package defaults"


@dataclass(frozen=True)
class Config:
    """How much is run."""

    num_seeds: int
    num_iterations: int
    num_interpolant_iterations: int = 200
    sizes: tuple[int, ...] = (20, 50, 100, 200)


# The interpolant with which the figure was made: no quadratic form, and one move before it is built anew.
ROUND_INTERPOLANT = surrogates.Interpolant(quadratic_variances=(0.0,), max_moves=1)
SIZES = {
    "miniature": Config(2, 12, num_interpolant_iterations=4, sizes=(20, 30)),
    "quick": Config(3, 600, num_interpolant_iterations=100, sizes=(50, 200)),
    "full": Config(20, 3000),
}
_STEIN = (SVGD, ANNEALED_SVGD, GF_SVGD, KERNEL_CURVE)
PLAIN = "paper plain"  # GF-AIS in the coordinates of AGF-SVGD, with a learned step
SAME = dict.fromkeys(_STEIN, PAPER) | {GF_AIS: PLAIN}
READINGS: dict[str, Mapping[str, str]] = {
    "learning rate 0.1": SAME,
    "best learning rate of each": {method: each.rate for method, each in tuned.GMM.items()},
    "best learning rate and bandwidth of each": {method: each.all for method, each in tuned.GMM.items()},
}
"""How the paper can be read where it is silent: the setting of each of its methods."""

_BEST = READINGS["best learning rate of each"]
_MAIN = ((EXACT, ""), *_BEST.items(), (INTERPOLANT, OURS))  # with all numbers of particles
_MORE = (*[run for reading in READINGS.values() for run in reading.items()], (GF_AIS, PAPER), (INTERPOLANT, MEDIAN))


def tasks(config: Config) -> list[Task]:
    """The paper's methods in all readings, the interpolant in the same algorithm, and what the figure does not show.

    The most important come first, and all methods of one seed before the next: whatever is finished can be compared.
    """
    largest, short = max(config.sizes), config.num_interpolant_iterations
    lengths = {INTERPOLANT: short, DEFAULT: short // 2}
    first = dict.fromkeys((*_MAIN, *SAME.items(), (DEFAULT, OURS)))
    groups = (
        [(run, largest) for run in first],
        [(run, largest) for run in dict.fromkeys(_MORE) if run not in first],
        [(run, size) for size in config.sizes if size < largest for run in _MAIN],
    )
    return [
        Task(method, setting, size, lengths.get(method, config.num_iterations), seed)
        for group in groups
        for seed in range(config.num_seeds)
        for (method, setting), size in group
    ]


def measure(config: Config, task: Task, folder: Path) -> list[Row]:
    """The rows of one run; every seed has a mixture and a start of its own."""
    target, initial = paper_gmm(task.seed), paper_gmm_initial(task.seed)
    measured = SphericalMixture(np.array([each.mean for each in target.components]), target.weights, 1.0)
    if task.method == EXACT:
        return exact_rows(task, target.sample(task.num_particles, np.random.default_rng([task.seed, 2])), measured)
    return trajectory(
        task,
        make_sampler(task, initial),
        target.log_prob,
        initial,
        measured,
        score=target.score,
        watch=task.method != DEFAULT,
        batches_per_iteration=2 if task.method == GF_AIS else 1,  # it moves half of the chains at a time
        max_evals=task.num_iterations * task.num_particles if task.method == DEFAULT else None,
    )


def make_sampler(task: Task, initial: Gaussian) -> Method[Any]:
    """The method with its setting.

    The paper's: its bandwidth for both kernels, Adam, temperatures linear to the last step, no rescue of stragglers,
    the parameters' own coordinates. A rule of the setting's is that of both kernels.
    """
    if task.method == DEFAULT:
        return AdaptiveImportanceSampling(stop_early=False)
    if task.setting == OURS:
        return AnnealedGFSVGD(num_iterations=task.num_iterations, surrogate=ROUND_INTERPOLANT)
    common = paper_settings(task.num_iterations, task.setting)
    linear, curve = Schedule(fraction=1, power=1), surrogates.KernelCurve(bandwidth=rule_of(task.setting))
    builders: dict[str, Callable[[], Method[Any]]] = {
        SVGD: lambda: stein.SVGD(**common),
        ANNEALED_SVGD: lambda: AnnealedSVGD(schedule=linear, **common),
        GF_SVGD: lambda: GFSVGD(surrogate=initial, **common),
        KERNEL_CURVE: lambda: AnnealedGFSVGD(surrogate=curve, schedule=linear, **common),
        INTERPOLANT: lambda: AnnealedGFSVGD(surrogate=ROUND_INTERPOLANT, schedule=linear, **common),
        GF_AIS: lambda: _make_gf_ais(task, curve, linear),
    }
    return builders[task.method]()


def _make_gf_ais(task: Task, curve: surrogates.KernelCurve, schedule: Schedule) -> Method[Any]:
    """GF-AIS with a learned step, unless the setting has one; in whitened coordinates, or in AGF-SVGD's own."""
    options = parse_options(task.setting)
    return baselines.GFAIS(
        num_iterations=task.num_iterations,
        surrogate=curve,
        schedule=schedule,
        coordinates=Plain() if "plain" in task.setting.split() else Whitened(),
        step=float(options["step"]) if "step" in options else None,
    )


_CURVES = (*[Curve(*run) for run in _BEST.items()], Curve(INTERPOLANT, OURS), Curve(DEFAULT, OURS))
_SUMMARIZED = tuple(
    Curve(*run, ", ".join(run)) for run in dict.fromkeys((*_BEST.items(), *_MORE, (INTERPOLANT, OURS), (DEFAULT, OURS)))
)


def plot(table: Table) -> Figure:
    """The four panels of Figure 2, with the interpolant and the default beside the paper's methods."""
    return four_panels(table, _CURVES, largest_size(table))


def plot_settings(table: Table) -> Figure:
    """The final MMD² of every method in every reading."""
    from matplotlib.figure import Figure

    size = largest_size(table)
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    for method in (*_STEIN, GF_AIS):
        ends = [np.array(list(final(table, Curve(method, each[method]), size).values())) for each in READINGS.values()]
        band(axes, np.array([0.0, 1.0, 2.0]), ends, method)
    axes.set_xticks(range(len(READINGS)), [name.replace(" and", "\nand") for name in READINGS])
    level(axes, table.where(method=EXACT, size=size, metric="mmd2"), EXACT)
    finish(axes, f"n = {size}, after all iterations", "", "log10 MMD²")
    name_lines(axes)
    return figure


def plot_evaluations(table: Table) -> Figure:
    """Against evaluations instead of iterations."""
    return against_evaluations(table, _CURVES, largest_size(table))


def summarize(table: Table) -> list[list[str]]:
    """Final values of all methods."""
    return summary(table, _SUMMARIZED, largest_size(table))


def claims(table: Table) -> list[Claim]:
    """Section 5.2, sentence by sentence."""
    size = largest_size(table)

    def end(method: str, setting: str, metric: str = "mmd2") -> Seeds:
        return final(table, Curve(method, setting), size, metric)

    def soon(method: str, setting: str) -> Seeds:
        return early(table, Curve(method, setting), size, EARLY_SHARE)

    def compare(first: str, second: str, judge: Judge, measure: Callable[..., Seeds] = end) -> tuple[Finding, ...]:
        """Two methods of the paper, in all readings."""
        return tuple(
            judge(name, measure(first, reading[first]), measure(second, reading[second]))
            for name, reading in READINGS.items()
        )

    def with_interpolant(second: str, judge: Judge, metric: str = "mmd2") -> tuple[Finding, ...]:
        """AGF-SVGD with the paper's surrogate in all readings, and with another against the other method's best."""
        measure = partial(end, metric=metric)
        best = READINGS["best learning rate and bandwidth of each"][second]
        return (
            *compare(KERNEL_CURVE, second, judge, measure),
            *[
                judge(f"interpolant, {name}", measure(INTERPOLANT, setting), measure(second, best))
                for name, setting in {"bandwidth med²": MEDIAN, OURS: OURS}.items()
            ],
        )

    others = (ANNEALED_SVGD, GF_SVGD, KERNEL_CURVE, GF_AIS)
    fastest = [
        replace(finding, setting=f"against {other}; {finding.setting}")
        for other in others
        for finding in compare(SVGD, other, below, soon)
    ]
    return [
        Claim("SVGD converges fastest (after a tenth of the iterations)", "Fig. 2(a)", tuple(fastest)),
        Claim(
            "A-SVGD is slower in the beginning (after a tenth of the iterations)",
            "Fig. 2(a)",
            compare(SVGD, ANNEALED_SVGD, below, soon),
        ),
        Claim(
            "A-SVGD catches up with SVGD: at the end at most 0.1 behind",
            "Fig. 2(a, d)",
            compare(ANNEALED_SVGD, SVGD, partial(not_above, by=0.1)),
        ),
        Claim(
            f"GF-SVGD is far behind SVGD (by {MIN_FAR})",
            "Fig. 2(a, d)",
            compare(SVGD, GF_SVGD, partial(below, by=MIN_FAR)),
        ),
        Claim(
            f"AGF-SVGD is far ahead of GF-SVGD (by {MIN_FAR})",
            "Fig. 2(a, d)",
            with_interpolant(GF_SVGD, partial(below, by=MIN_FAR)),
        ),
        Claim(
            f"AGF-SVGD is only slightly behind SVGD (at most {MAX_SLIGHT})",
            "Fig. 2(a, d)",
            with_interpolant(SVGD, partial(not_above, by=MAX_SLIGHT)),
        ),
        Claim("AGF-SVGD is ahead of GF-AIS, in MMD", "Fig. 2(a, d)", with_interpolant(GF_AIS, below)),
        Claim("AGF-SVGD is ahead of GF-AIS, in the mean", "Fig. 2(b)", with_interpolant(GF_AIS, below, "mean_mse")),
        Claim(
            "AGF-SVGD is ahead of GF-AIS, in the variance",
            "Fig. 2(c)",
            with_interpolant(GF_AIS, below, "variance_mse"),
        ),
    ]


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
