"""Makes the pictures of the README and the docs: ``python docs/pictures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import steinbox as sb

IMAGES = Path(__file__).parent / "images"
TARGET = sb.targets.Banana()
RED = "#b3202c"


def banana() -> None:
    """The particles of the README's run at its start, on its way and at its end."""
    clouds = []
    sb.sample(
        TARGET.log_prob,
        sb.Gaussian([0, 0], std=3),
        vectorized=True,
        seed=0,
        callback=lambda iteration: clouds.append(iteration.particles),
    )
    first, second = np.linspace(-8, 8, 300), np.linspace(-8, 11, 300)
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    density = np.exp(TARGET.log_prob(grid.reshape(-1, 2))).reshape(300, 300)
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
    for axes, index in zip(panels, (0, 30, len(clouds) - 1), strict=True):
        axes.contourf(
            first, second, density, levels=density.max() * np.array([0.003, 0.03, 0.2, 0.5, 1.01]), cmap="Blues"
        )
        axes.scatter(*clouds[index].T, s=8, color=RED, edgecolors="none")
        axes.set(xlim=(-8, 8), ylim=(-8, 11), title=f"{200 * (index + 1):,} evaluations")
    figure.savefig(IMAGES / "banana.png", dpi=120)


def trace() -> None:
    """What the trace of a run shows."""
    result = sb.sample(TARGET.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, seed=0)
    figure, panels = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
    for axes, name in zip(panels, ("temperature", "mean_log_prob", "movement"), strict=True):
        axes.plot(result.trace[name], color=RED)
        axes.set(xlabel="iteration", title=name)
    figure.savefig(IMAGES / "trace.png", dpi=120)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    banana()
    trace()
