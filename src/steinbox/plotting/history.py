"""How a run went: what its trace says, evaluation by evaluation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from steinbox.plotting.canvas import PARTICLES, POOL, SERIES, new_figure, tidy
from steinbox.plotting.text import escape
from steinbox.run.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NUM_COLUMNS = 3
_TITLES = {
    "tempering": "power of the weights",
    "temperature": "annealing",
    "effective_sample_size": "effective sample size",
    "mean_log_prob": "mean log-density",
    "num_components": "components of the proposal",
}

Panel: TypeAlias = Callable[["Axes"], None]


def run(result: Result, *, fig: Figure | None = None) -> Figure:
    """How a run went, against the number of evaluations: one panel for each column of the trace.

    With the default these are the log-evidence, in a band of twice its error, the effective sample size, the power that
    the weights were tempered to, and how many evaluations each proposer was given. Times and failures are shown if
    there are any.

    Parameters
    ----------
    result : Result
    fig : matplotlib.figure.Figure, optional
        Where to draw; if not given, a new one.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, max_evals=2_000, seed=0)
    >>> "effective sample size" in [axes.get_title() for axes in sb.plotting.run(result).axes]
    True
    """
    panels = _choose_panels(result)
    num_columns = min(len(panels), _NUM_COLUMNS)
    num_rows = -(-len(panels) // num_columns)
    fig = new_figure(fig, 3.6 * num_columns, 2.6 * num_rows)
    grid = fig.add_gridspec(num_rows, num_columns)
    for place, draw in enumerate(panels):
        axes = fig.add_subplot(grid[divmod(place, num_columns)])
        draw(axes)
        tidy(axes)
    fig.suptitle(escape(str(result.status)), fontsize=9)
    return fig


def _choose_panels(result: Result) -> list[Panel]:
    """What there is to show."""
    columns = [
        name
        for name, values in result.trace.items()
        if name not in ("num_evals", "log_evidence") and values.dtype.kind in "iuf" and np.isfinite(values).any()
    ]
    panels: list[Panel] = [partial(_draw_column, result=result, name=name) for name in columns]
    if "log_evidence" in result.trace:
        panels.insert(0, partial(_draw_evidence, result=result))
    if "proposers" in result.trace:
        panels.append(partial(_draw_proposers, result=result))
    if len(result.archive.seconds) and result.archive.seconds.sum() > 0:
        panels.append(partial(_draw_seconds, result=result))
    if result.failures:
        panels.append(partial(_draw_failures, result=result))
    return panels


def _draw_column(axes: Axes, result: Result, name: str) -> None:
    num_evals, values = result.trace["num_evals"], result.trace[name]
    axes.plot(num_evals, values, color=SERIES[0], lw=1.5)
    if name == "effective_sample_size":
        axes.set_yscale("log")
        axes.axhline(len(result.particles), color=PARTICLES, lw=1, ls=":", label="particles")
        axes.legend(fontsize=7, frameon=False)
    axes.set(title=_TITLES.get(name, escape(name.replace("_", " "))), xlabel="evaluations")


def _draw_evidence(axes: Axes, result: Result) -> None:
    """The log-evidence, from when the points are worth a few draws, in a band of twice its error."""
    num_evals, values = result.trace["num_evals"], result.trace["log_evidence"]
    sizes = result.trace.get("effective_sample_size", np.full(len(values), np.nan))
    known = np.isfinite(values) & (~np.isfinite(sizes) | (sizes >= min(4.0, float(np.nanmax(sizes, initial=4.0)))))
    error = 2 / np.sqrt(np.where(np.isfinite(sizes), sizes, np.inf))
    axes.plot(num_evals[known], values[known], color=SERIES[0], lw=1.5)
    axes.fill_between(
        num_evals[known], (values - error)[known], (values + error)[known], color=SERIES[0], alpha=0.2, lw=0
    )
    axes.set(title="log evidence ± 2 errors", xlabel="evaluations")


def _draw_proposers(axes: Axes, result: Result) -> None:
    """Evaluations of the batches that each proposer took part in."""
    spent = np.diff(result.trace["num_evals"], prepend=0)
    names = np.unique(result.trace["proposers"])
    counts = np.array([spent[result.trace["proposers"] == name].sum() for name in names])
    order = np.argsort(counts)
    axes.barh(np.arange(len(names)), counts[order], color=POOL, alpha=0.8)
    axes.set_yticks(np.arange(len(names)), [escape(str(name)).replace(", ", ",\n") for name in names[order]])
    axes.set(title="evaluations by proposer", xlabel="evaluations")


def _draw_seconds(axes: Axes, result: Result) -> None:
    seconds = np.nancumsum(result.archive.seconds)
    axes.plot(np.arange(1, len(seconds) + 1), seconds, color=SERIES[0], lw=1.5)
    axes.set(title="seconds in the density", xlabel="evaluations that worked")


def _draw_failures(axes: Axes, result: Result) -> None:
    kinds = list(result.failures)
    axes.barh(np.arange(len(kinds)), [result.failures[kind].count for kind in kinds], color=PARTICLES, alpha=0.8)
    axes.set_yticks(np.arange(len(kinds)), [escape(kind) for kind in kinds])
    axes.set(title="failed evaluations", xlabel="number")
