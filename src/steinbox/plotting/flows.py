"""The way of the particles: paths in a plane, and a film of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.plotting.canvas import PARTICLES, draw_target, find_columns, new_axes, new_figure, tidy
from steinbox.plotting.text import escape
from steinbox.run.record import Record
from steinbox.run.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TAIL_FRAMES = 5  # of a film: how much of a particle's path is shown behind it
_SHOWN_QUANTILES = (0.005, 0.995)  # of all recorded places, between the ends of an axis


def flow(
    result: Result,
    *,
    names: Sequence[str] | None = None,
    log_prob: Callable[[Array], Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The paths of the particles in the plane of two parameters, with an arrow for the last recorded move.

    A method that chooses its particles anew at every iteration, as the default does, has no paths: the particles of all
    recorded moments are drawn, the earlier the paler.

    Parameters
    ----------
    result : Result
        Of ``sb.sample(..., record=20)``.
    names : sequence of two str, optional
        The parameters; if not given, the first two.
    log_prob : callable, optional
        A vectorized log-density of a two-dimensional target; its contours are drawn below.
    ax : matplotlib.axes.Axes, optional
        Where to draw; if not given, in a new figure, ``ax.figure``.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), method=sb.AnnealedGFSVGD(), vectorized=True,
    ...                    num_particles=50, max_evals=2_000, record=10, seed=0)
    >>> axes = sb.plotting.flow(result, log_prob=target.log_prob)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('x0', 'x1')
    """
    record, columns = _require_record(result), _find_plane(result, names)
    ax = new_axes(ax)
    places = record.particles[:, :, columns]
    _set_up(ax, result, columns, places, log_prob)
    if record.is_flow:
        _draw_paths(ax, places)
    else:
        for frame, alpha in zip(places, np.linspace(0.08, 0.9, len(places)), strict=True):
            ax.scatter(frame[:, 0], frame[:, 1], s=10, color=PARTICLES, alpha=alpha, edgecolors="none")
    ax.set_title(f"{len(record)} moments of {result.num_evals:,} evaluations", fontsize=9)
    return ax


def animate(
    result: Result,
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    log_prob: Callable[[Array], Any] | None = None,
    frames_per_second: int = 8,
) -> Path:
    """Write a film of the particles: ``.gif``, ``.mp4`` (needs ffmpeg) or ``.html`` with a slider.

    Parameters
    ----------
    result : Result
        Of ``sb.sample(..., record=40)``.
    path : str or Path
        The ending says which kind.
    names, log_prob
        As for :func:`flow`.
    frames_per_second : int

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), method=sb.AnnealedGFSVGD(), vectorized=True,
    ...                    num_particles=20, max_evals=400, record=3, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sb.plotting.animate(result, f"{folder}/banana.gif").stat().st_size > 1_000
    True
    """
    record, columns, path = _require_record(result), _find_plane(result, names), Path(path)
    if path.suffix not in (".gif", ".mp4", ".html"):
        raise ValueError(f"expected a file name that ends in .gif, .mp4 or .html, got {path.name!r}")
    figure = new_figure(None, 5, 5)
    from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    axes, places = figure.subplots(), record.particles[:, :, columns]
    _set_up(axes, result, columns, places, log_prob)
    dots = axes.scatter(places[0, :, 0], places[0, :, 1], s=14, color=PARTICLES, edgecolors="none", zorder=3)
    tails = [axes.plot([], [], color=PARTICLES, lw=0.6, alpha=0.4)[0] for _ in places[0]] if record.is_flow else []

    def show(frame: int) -> list[Any]:
        dots.set_offsets(places[frame])
        for particle, tail in enumerate(tails):
            tail.set_data(*places[max(0, frame - _TAIL_FRAMES) : frame + 1, particle].T)
        axes.set_title(f"{record.num_evals[frame]:,} evaluations", fontsize=9)
        return [dots, *tails]

    film = FuncAnimation(figure, show, frames=len(record), interval=1000 / frames_per_second)
    if path.suffix == ".html":
        path.write_text(film.to_jshtml(fps=frames_per_second), encoding="utf-8")
    elif path.suffix == ".mp4" and not FFMpegWriter.isAvailable():
        raise ValueError("a .mp4 film needs the program ffmpeg, which was not found; write a .gif or .html")
    else:
        writer = FFMpegWriter if path.suffix == ".mp4" else PillowWriter
        film.save(path, writer=writer(fps=frames_per_second), dpi=100)
    return path


def _require_record(result: Result) -> Record:
    if result.record is None:
        raise ValueError("this result has no recorded iterations: sample again with record=20")
    return result.record


def _find_plane(result: Result, names: Sequence[str] | None) -> list[int]:
    columns = find_columns(result, names, 2)
    if len(columns) != 2:
        raise ValueError(f"expected two parameters, got {len(columns)}")
    return columns


def _set_up(
    axes: Axes, result: Result, columns: list[int], places: Array, log_prob: Callable[[Array], Any] | None
) -> None:
    """Axes that show nearly all places, and the target's contours."""
    low, high = np.quantile(places.reshape(-1, 2), _SHOWN_QUANTILES, axis=0)
    low, high = np.minimum(low, places[-1].min(axis=0)), np.maximum(high, places[-1].max(axis=0))
    margin = 0.08 * (high - low) + 1e-300
    axes.set(xlim=(low[0] - margin[0], high[0] + margin[0]), ylim=(low[1] - margin[1], high[1] + margin[1]))
    if log_prob is not None and len(result.names) == 2:
        draw_target(axes, log_prob, result)
    axes.set(xlabel=escape(result.labels[columns[0]]), ylabel=escape(result.labels[columns[1]]))
    tidy(axes)


def _draw_paths(axes: Axes, places: Array) -> None:
    """From hollow circles to arrows."""
    for path in places.transpose(1, 0, 2):
        axes.plot(*path.T, color=PARTICLES, lw=0.6, alpha=0.35)
    first, last = places[0], places[-1]
    axes.scatter(first[:, 0], first[:, 1], s=10, facecolors="none", edgecolors=PARTICLES, alpha=0.4, linewidths=0.6)
    axes.scatter(last[:, 0], last[:, 1], s=12, color=PARTICLES, edgecolors="none", zorder=3)
    if len(places) > 1:
        axes.quiver(
            *places[-2].T,
            *(places[-1] - places[-2]).T,
            angles="xy",
            scale_units="xy",
            scale=1,
            color=PARTICLES,
            width=0.003,
            zorder=3,
        )
