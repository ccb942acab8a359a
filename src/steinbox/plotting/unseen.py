"""What a run knows of modes that it did not see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steinbox.plotting.canvas import PARTICLES, POOL, SERIES, new_figure, tidy
from steinbox.run.result import Result
from steinbox.samplers.adaptive.tuning import Tuning

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = ("places", "climbs", "places that lead to\na missed mode")
_HEIGHT = 0.55  # of a bar; rows are 1 apart


def coverage(result: Result, *, ax: Axes | None = None) -> Axes:
    """What ``result.coverage`` says, as shares.

    The first bar has the places, scattered draws: explained by what is known, or open. The second has the climbs: those
    that found a mode not known before, and those that found none. The dot is what follows from both: the
    expected share of places that lead to a mode that was not seen, with a line up to its bound, which is right 19 times
    in 20. A report calls it good up to the dotted line.

    Parameters
    ----------
    result : Result
        Of a method that climbs: the default.
    ax : matplotlib.axes.Axes, optional
        Where to draw; if not given, those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.separated_modes(2)
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=5), vectorized=True, max_evals=2_000, seed=0)
    >>> axes = sb.plotting.coverage(result)
    >>> bool(axes.lines[-1].get_xdata()[0] == result.coverage.unseen)
    True
    """
    known = result.coverage
    if known is None:
        method = result.config.get("method", "this one")
        raise ValueError(f"expected a result of a method that climbs, as the default does; {method} does not")
    axes = new_figure(None, 7.5, 2.8).subplots() if ax is None else ax
    _draw_parts(axes, 0, [known.num_places - known.num_open, known.num_open], ("explained", "open"))
    _draw_parts(axes, 1, [known.num_climbs - known.num_finds, known.num_finds], ("found none", "found a mode"))
    limit = Tuning().max_unseen
    axes.axvline(limit, ymax=0.32, color="0.4", lw=1, ls=":")
    axes.plot([known.unseen, known.upper], [2, 2], color=PARTICLES, lw=2, solid_capstyle="butt")
    axes.plot([known.unseen], [2], "o", color=PARTICLES, ms=7, clip_on=False)
    words = f"{100 * known.unseen:.3g}%, at most {100 * known.upper:.3g}%"
    if known.upper < 0.7:
        axes.text(max(known.upper, limit) + 0.015, 2, words, va="center", fontsize=8)
    else:
        axes.text(0.99, 1.75, words, ha="right", fontsize=8)
    axes.set_yticks(range(len(_ROWS)), _ROWS)
    axes.set(xlim=(0, 1), ylim=(len(_ROWS) - 0.5, -0.5), xlabel="share")
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    tidy(axes)
    return axes


def _draw_parts(axes: Axes, row: int, counts: Sequence[int], words: Sequence[str]) -> None:
    """A bar of two parts, with their numbers; none if there is nothing."""
    total = sum(counts)
    if not total:
        axes.text(0.01, row, "none", va="center", fontsize=8)
        return
    left = 0.0
    for count, word, color in zip(counts, words, (POOL, SERIES[1]), strict=True):
        share = count / total
        axes.barh([row], [share], _HEIGHT, left=left, color=color, alpha=0.55)
        if count:
            place, side = (left + 0.01, "left") if left == 0 else (0.99, "right")
            axes.text(place, row, f"{count:,} {word}", va="center", ha=side, fontsize=8)
        left += share
