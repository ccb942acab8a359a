"""Makes the pictures of the README and the docs: ``python docs/pictures.py``."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import steinbox as sb

IMAGES = Path(__file__).parent / "images"
TARGET = sb.targets.Banana()
RED = "#b3202c"


def banana() -> None:
    """The particles of the README's run at its start, on its way and at its end."""
    clouds, counts = [], []
    sb.sample(
        TARGET.log_prob,
        sb.Gaussian([0, 0], std=3),
        vectorized=True,
        seed=0,
        callback=lambda iteration: clouds.append(iteration.particles) or counts.append(iteration.num_evals),
    )
    first, second = np.linspace(-8, 8, 300), np.linspace(-8, 11, 300)
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    density = np.exp(TARGET.log_prob(grid.reshape(-1, 2))).reshape(300, 300)
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
    for axes, index in zip(panels, (0, 5, len(clouds) - 1), strict=True):
        axes.contourf(
            first, second, density, levels=density.max() * np.array([0.003, 0.03, 0.2, 0.5, 1.01]), cmap="Blues"
        )
        axes.scatter(*clouds[index].T, s=8, color=RED, edgecolors="none")
        axes.set(xlim=(-8, 8), ylim=(-8, 11), title=f"{counts[index]:,} evaluations")
    figure.savefig(IMAGES / "banana.png", dpi=120)


def trace() -> None:
    """What the trace of a run shows."""
    result = sb.sample(TARGET.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, seed=0)
    figure, panels = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
    titles = {"tempering": "power of the weights", "effective_sample_size": "effective sample size"}
    for axes, name in zip(panels, (*titles, "log_evidence"), strict=True):
        axes.plot(result.trace["num_evals"], result.trace[name], color=RED)
        axes.set(xlabel="evaluations", title=titles.get(name, "log-evidence"))
    figure.savefig(IMAGES / "trace.png", dpi=120)


def two_modes(distance: float) -> sb.GaussianMixture:
    """Equal unit Gaussians this far apart."""
    return sb.GaussianMixture([sb.Gaussian([sign * distance / 2, 0.0], std=1.0) for sign in (-1, 1)])


def shade(axes: plt.Axes, target: sb.GaussianMixture, limit: float) -> None:
    """The density behind the points."""
    first, second = np.linspace(-limit, limit, 200), np.linspace(-4, 4, 160)
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    density = np.exp(target.log_prob(grid.reshape(-1, 2))).reshape(160, 200)
    axes.contourf(first, second, density, levels=density.max() * np.array([0.01, 0.1, 0.3, 0.6, 1.01]), cmap="Blues")
    axes.set(xlim=(-limit, limit), ylim=(-4, 4), xticks=[], yticks=[])


def judged() -> None:
    """Four samples and what the tools say about them, from log-densities alone."""
    near, far = two_modes(3.0), two_modes(10.0)
    rng = np.random.default_rng(0)
    samples = {
        "drawn from the target": (near, near.sample(300, rng)),
        "one mode is missing": (near, near.components[0].sample(300, rng)),
        "over-dispersed": (near, 1.3 * near.sample(300, rng)),
        "a far mode is missing: invisible": (far, far.components[0].sample(300, rng)),
    }
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
    for axes, (title, (target, x)) in zip(panels, samples.items(), strict=True):
        shade(axes, target, 5.5 if target is near else 8.0)
        axes.scatter(*x.T, s=6, color=RED, edgecolors="none")
        log_prob = target.log_prob(x)
        test = sb.goodness_of_fit(x, log_prob, rng=0)
        distances = f"GF-KSD {sb.gf_ksd(x, log_prob):.2f}, with the gradient {sb.ksd(x, target.score):.2f}"
        axes.set_title(f"{title}\n{distances}\np = {test.p_value:.3f}", fontsize=9.5)
    figure.savefig(IMAGES / "judged.png", dpi=120)


def repaired() -> None:
    """The over-dispersed sample of `judged`, repaired by weights and by thinning."""
    target = two_modes(3.0)
    rng = np.random.default_rng(0)
    x = 1.3 * target.sample(300, rng)
    log_prob, reference = target.log_prob(x), target.sample(5000, rng)
    best = sb.black_box_weights(x, log_prob)
    chosen = x[sb.thin(x, log_prob, 30)]
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    clouds = [
        (x, 6.0, f"as it came: MMD {sb.mmd(x, reference):.3f}"),
        (x, 1800 * best.weights, f"black_box_weights: MMD {sb.mmd(x, reference, weights=best.weights):.3f}"),
        (chosen, 14.0, f"thin, 30 points: MMD {sb.mmd(chosen, reference):.3f}"),
    ]
    for axes, (points, size, title) in zip(panels, clouds, strict=True):
        shade(axes, target, 5.5)
        axes.scatter(*points.T, s=size, color=RED, edgecolors="none")
        axes.set_title(title, fontsize=10)
    figure.savefig(IMAGES / "repaired.png", dpi=120)


def portfolio() -> None:
    """Where the default looked in four batches of one run: each batch in red over all points before it."""
    target = sb.GaussianMixture([sb.Gaussian([-3, 2], std=[0.5, 0.9]), sb.Gaussian([3, -2], std=[1.2, 0.4])])
    result = sb.sample(
        target.log_prob, sb.Gaussian([0, 0], std=6), vectorized=True, num_particles=100, max_evals=6_000, seed=0
    )
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.7), sharey=True, layout="constrained")
    titles = ("drawn from the start", "drawn from the first fit", "climbs, in search of other modes")
    for axes, title, kind in zip(panels, titles, ("initial", "fitted family, quadratic fit", "climbs"), strict=False):
        start, end = longest_stretch(result, kind)
        shade_box(axes, target)
        axes.scatter(*result.archive.points[:start].T, s=3, color="0.65", edgecolors="none")
        axes.scatter(*result.archive.points[start:end].T, s=7, color=RED, edgecolors="none")
        axes.set(title=title, xlabel=f"evaluations {start + 1:,} to {end:,}")
    shade_box(panels[3], target)
    panels[3].scatter(*result.particles.T, s=9, color=RED, edgecolors="none")
    panels[3].set(title="the particles", xlabel=f"100, chosen from {result.num_evals:,} evaluations")
    save_small(figure, "portfolio.png")


def longest_stretch(result: sb.Result, kind: str) -> tuple[int, int]:
    """The evaluations of the longest stretch of batches that these proposers shared."""
    ends = [0, *map(int, result.trace["num_evals"])]
    stretches, start = [], None
    for k, name in enumerate([*result.trace["proposers"], None]):
        if name == kind and start is None:
            start = ends[k]
        if name != kind and start is not None:
            stretches.append((start, ends[k]))
            start = None
    return max(stretches, key=lambda stretch: stretch[1] - stretch[0])


def shade_box(axes: plt.Axes, target: sb.GaussianMixture) -> None:
    """The density behind the points, in a square."""
    side = np.linspace(-9, 9, 240)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    density = np.exp(target.log_prob(grid.reshape(-1, 2))).reshape(240, 240)
    axes.contourf(side, side, density, levels=density.max() * np.array([0.003, 0.03, 0.2, 0.5, 1.01]), cmap="Blues")
    axes.set(xlim=(-9, 9), ylim=(-9, 9), xticks=[], yticks=[])


def save_small(figure: plt.Figure, name: str) -> None:
    """With 64 colors, which a drawing does with."""
    with tempfile.TemporaryDirectory() as folder:
        figure.savefig(Path(folder) / name, dpi=90)
        Image.open(Path(folder) / name).convert("RGB").quantize(64).save(IMAGES / name, optimize=True)


def report() -> None:
    """The report of a run with three parameters, as Chromium shows it; not made if there is none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no Chromium: images/report.png stays as it is")
        return
    target = sb.GaussianMixture(
        [sb.Gaussian([-1, 0, 2], std=[0.5, 1, 0.6]), sb.Gaussian([1.5, 1, 0], std=[0.7, 0.4, 1])]
    )
    result = sb.sample(
        target.log_prob,
        sb.Gaussian([0, 0, 0], std=3),
        vectorized=True,
        names=["depth", "slope", "offset"],
        max_evals=10_000,
        seed=0,
    )
    with tempfile.TemporaryDirectory() as folder:
        page = result.report(Path(folder) / "run.html")
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--hide-scrollbars",
            "--window-size=960,2280",
            f"--user-data-dir={folder}",
        ]
        picture = Path(folder) / "report.png"
        subprocess.run([chromium, *flags, f"--screenshot={picture}", page.as_uri()], check=True)
        Image.open(picture).quantize(128).save(IMAGES / "report.png", optimize=True)


def live() -> None:
    """The live view of a slow run, as Chromium shows it; not made if there is none."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from browser import CHROMIUM, Browser

    if CHROMIUM is None:
        print("no Chromium: images/live.png stays as it is")
        return

    def log_prob(x: np.ndarray) -> float:
        time.sleep(0.003)
        return float(TARGET.log_prob(x[None])[0])

    settings = {"names": ["depth", "slope"], "max_evals": 10_000, "seed": 0, "live": True, "progress": False}
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        run = threading.Thread(target=sb.sample, args=(log_prob, sb.Gaussian([0, 0], std=3)), kwargs=settings)
        run.start()
        while "http" not in said.getvalue():
            time.sleep(0.01)
    browser = Browser()
    try:
        browser.open(said.getvalue().split()[-1], width=960, height=1320)
        browser.wait_for("typeof live !== 'undefined' && live.page > 3")
        browser.screenshot(IMAGES / "live.png", whole=False)
        browser.evaluate("[0, 1].forEach(() => element('live-stop').click())")
        run.join()
    finally:
        browser.close()
    Image.open(IMAGES / "live.png").quantize(128).save(IMAGES / "live.png", optimize=True)


def unseen() -> None:
    """What the search of a run that is too short knows of other modes."""
    target = sb.GaussianMixture([sb.Gaussian([10 * np.cos(a), 10 * np.sin(a)], std=0.3) for a in np.arange(8)])
    result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=6), vectorized=True, max_evals=1_500, seed=0)
    sb.plotting.coverage(result).figure.savefig(IMAGES / "unseen.png", dpi=100)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for picture in (banana, trace, judged, repaired, portfolio, report, live, unseen):
        picture()
