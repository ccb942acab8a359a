"""A picture of several runs side by side."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.labels import label
from steinbox.plotting.text import escape, import_figure
from steinbox.run.compare import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_PARAMETERS = 12  # shown: those whose means differ most
_NUM_SENTENCES = 3  # of the disagreements, above the picture


def compare(comparison: Comparison) -> Figure:
    """What :func:`steinbox.compare` found: evidences, means and standard deviations, shares of the modes.

    The means of a parameter are drawn from their average over the runs, in units of its standard deviation, so that
    all parameters fit on one axis: the thin bar is a run's standard deviation, the thick one twice the error of its
    mean. Of more than twelve parameters, those are shown whose means differ most.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig(path)``. Its ``axes`` are those of evidence, parameters and modes; there is none
        for evidence if no run estimates it.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.separated_modes(2)
    >>> settings = {"vectorized": True, "max_evals": 800, "num_particles": 100}
    >>> runs = [sb.sample(target.log_prob, sb.Gaussian([0, 0], std=5), seed=seed, **settings) for seed in range(2)]
    >>> len(sb.plotting.compare(sb.compare(runs)).axes)
    3
    """
    shown = _choose_parameters(comparison)
    has_evidence = bool(np.isfinite(comparison.log_evidence).any())
    figure = import_figure()(figsize=(9.5, 1.8 + 0.45 * max(len(shown), 4)), layout="constrained")
    widths = [1.0, 2.2, 1.3] if has_evidence else [2.2, 1.3]
    panels = list(figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0])
    if has_evidence:
        _draw_evidence(panels.pop(0), comparison)
    _draw_parameters(panels[0], comparison, shown)
    _draw_modes(panels[1], comparison)
    figure.suptitle(_headline(comparison), fontsize=9, x=0.01, ha="left")
    return figure


def _choose_parameters(comparison: Comparison) -> IntegerArray:
    """The parameters to show, in order."""
    gaps = np.ptp(comparison.mean, axis=0) / _typical_sd(comparison)
    return np.sort(np.argsort(-gaps, kind="stable")[:_MAX_PARAMETERS])


def _typical_sd(comparison: Comparison) -> Array:
    sd = np.sqrt(np.mean(comparison.sd**2, axis=0))
    return np.where(sd > 0, sd, 1.0)


def _headline(comparison: Comparison) -> str:
    sentences = comparison.sentences
    more = len(sentences) - _NUM_SENTENCES
    lines = [*sentences[:_NUM_SENTENCES], *([f"… and {more} more."] if more > 0 else [])]
    return escape("\n".join(line for sentence in lines for line in textwrap.wrap(sentence, 120)))


def _draw_evidence(axes: Axes, comparison: Comparison) -> None:
    numbers = np.arange(1, len(comparison.mean) + 1)
    for k, color in enumerate(_colors(comparison)):
        axes.errorbar(
            numbers[k],
            comparison.log_evidence[k],
            2 * comparison.log_evidence_error[k],
            fmt="o",
            color=color,
            capsize=3,
        )
    axes.set(xticks=numbers, xlabel="run", xlim=(0.5, len(numbers) + 0.5), title="log evidence ± 2 errors")
    _tidy(axes)


def _draw_parameters(axes: Axes, comparison: Comparison, shown: IntegerArray) -> None:
    scale, num_runs = _typical_sd(comparison), len(comparison.mean)
    center = comparison.mean.mean(axis=0)
    for k, color in enumerate(_colors(comparison)):
        rows = np.arange(len(shown)) + 0.6 * ((k + 0.5) / num_runs - 0.5)
        mean = ((comparison.mean[k] - center) / scale)[shown]
        axes.errorbar(mean, rows, xerr=(comparison.sd[k] / scale)[shown], fmt="none", color=color, lw=1, alpha=0.7)
        axes.errorbar(mean, rows, xerr=2 * (comparison.mean_error[k] / scale)[shown], fmt="o", color=color, ms=3, lw=3)
    axes.set(xlabel="from the average mean, in standard deviations", title="means, ± sd and ± 2 errors")
    axes.set_yticks(np.arange(len(shown)), [escape(label(comparison.names[k], comparison.units)) for k in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    _tidy(axes)


def _draw_modes(axes: Axes, comparison: Comparison) -> None:
    numbers = np.arange(1, len(comparison.mean) + 1)
    below = np.zeros(len(numbers))
    for m, shares in enumerate(comparison.mode_shares.T):
        axes.bar(numbers, shares, 0.7, below, label=f"mode {m + 1}", color=str(0.3 + 0.55 * m / _num_modes(comparison)))
        below = below + shares
    axes.set(xticks=numbers, xlabel="run", xlim=(0.4, len(numbers) + 0.6), ylim=(0, 1), title="particles in each mode")
    axes.legend(fontsize=7, loc="lower right", framealpha=0.9)
    _tidy(axes)


def _num_modes(comparison: Comparison) -> int:
    return max(int(comparison.mode_shares.shape[1]), 1)


def _colors(comparison: Comparison) -> list[str]:
    return [f"C{k % 10}" for k in range(len(comparison.mean))]


def _tidy(axes: Axes) -> None:
    axes.title.set_fontsize(9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
