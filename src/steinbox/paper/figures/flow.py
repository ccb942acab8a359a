"""Particles on their way to the Gaussian of Figure 1, for three surrogates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from steinbox import surrogates
from steinbox.common.arrays import Array
from steinbox.densities.gaussian import Gaussian
from steinbox.paper.figures.settings import paper_settings
from steinbox.paper.table import Table
from steinbox.paper.targets import paper_gaussian, paper_gaussian_surrogate
from steinbox.run.loop import Iteration
from steinbox.samplers.stein import GFSVGD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

START = Gaussian(np.zeros(2), std=3.0)


def plot_flow(table: Table) -> Figure:
    """Particles of three surrogates at several steps; it is run again each time, which takes seconds."""
    from matplotlib.figure import Figure

    from steinbox.sample import sample

    target, times = paper_gaussian(), (0, 20, 100, 400)
    figure = Figure(figsize=(7.2, 5.6), layout="constrained")
    rhos: dict[str, surrogates.Surrogate] = {
        "ρ = p (SVGD)": target,
        "σρ = 3σ": paper_gaussian_surrogate(),
        "ρ = 1": surrogates.Flat(),
    }
    grid = np.linspace(-6, 6, 120)
    plane = np.stack(np.meshgrid(grid, grid), axis=-1)
    density = np.exp(target.log_prob(plane.reshape(-1, 2))).reshape(plane.shape[:2])
    for panels, (name, rho) in zip(figure.subplots(3, 4, sharex=True, sharey=True), rhos.items(), strict=True):
        clouds: list[Array] = []
        method = GFSVGD(surrogate=rho, **paper_settings(times[-1], "paper"))

        def keep(iteration: Iteration, clouds: list[Array] = clouds) -> None:
            clouds.append(iteration.particles)

        quietly = partial(sample, vectorized=True, progress=False)
        quietly(target.log_prob, START, num_particles=100, method=method, seed=0, callback=keep)
        for axes, step in zip(panels, times, strict=True):
            axes.contourf(grid, grid, density, levels=6, cmap="Blues", alpha=0.7)
            axes.scatter(*clouds[step].T, s=8, color="#b3202c", edgecolors="none")
            for path in np.array(clouds[: step + 1 : max(1, step // 25)]).swapaxes(0, 1)[::5]:
                axes.plot(*path.T, color="#b3202c", linewidth=0.4, alpha=0.6)
            axes.set_title(f"{name}, {step} steps", fontsize=8)
            axes.set(xlim=(-6, 6), ylim=(-6, 6))
    return figure
