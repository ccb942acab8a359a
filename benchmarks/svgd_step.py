r"""The cost of one plain SVGD update: steinbox against blackjax and numpyro, interleaved in one run.

Everybody does the same update of the same particles, target N(0, I) in d dimensions, whose score -x costs nothing:

.. math:: x_i + \epsilon\, \frac1n \sum_j \big[ s_j k(x_j, x_i) + \nabla_{x_j} k(x_j, x_i) \big],
          \qquad k(x, y) = e^{-\|x - y\|^2 / h}, \quad h = \mathrm{med}^2,

with the exact median of the pairwise distances, taken anew in every update. Contenders:

``steinbox``
    ``Median()`` and ``stein_direction``, as a user gets them; float64, NumPy.
``blackjax``
    ``blackjax.svgd``: ``update_median_heuristic`` and then its kernel, with plain ``optax.sgd``. Its rule is the median
    of the same n(n-1)/2 distances, h = med² / log n; its ``rbf_kernel`` is called with log n times that, so h = med².
    (Its own ``step`` does the two halves in the opposite order, at the same cost.)
``numpyro``
    ``numpyro.contrib.einstein.SVGD`` with ``RBFKernel(bandwidth_factor=1)`` and plain ``SGD``. Its rule is the exact
    median of all n² entries of the distance matrix, so of twice the pairs and the zeros of the diagonal; that is its
    own code and stays so. Its score comes from automatic differentiation of its model, as it has no other way.

Both peers run jit-compiled and are waited for, compilation excluded, in float32 (their default) and float64; steinbox
is float64. Before timing, each peer's direction is compared with steinbox's at that peer's own h.

The ratios mean something only on an idle machine: the threads of NumPy's BLAS wait for each other, and a second busy
process slows steinbox by far more than its share.

Run ``pip install -e . -r benchmarks/requirements.txt``, then ``python benchmarks/svgd_step.py``.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import blackjax.vi.svgd as blackjax_svgd
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import optax
from numpyro import distributions
from numpyro.contrib.einstein import SVGD, RBFKernel
from numpyro.contrib.einstein.stein_util import median_bandwidth
from numpyro.contrib.einstein.steinvi import SteinVIState

from steinbox.numerics.bandwidth import Median
from steinbox.numerics.kernels import RBF
from steinbox.samplers.stein.direction import stein_direction

SIZES = ((200, 25), (1000, 25), (5000, 25))
STEP_SIZE = 0.1
SAMPLE_SECONDS = 0.3  # a sample repeats a fast update for this long and takes the mean
RESULTS = Path(__file__).parent / "results" / "svgd_step.md"
PACKAGES = ("steinbox", "numpy", "scipy", "blackjax", "numpyro", "jax", "jaxlib", "optax")
PRECISIONS = ("float32", "float64")


@dataclass
class Contender:
    """One way to do the update: a step without arguments that returns the new particles, and what was seen of it."""

    name: str
    precision: str
    step: Callable[[], np.ndarray]
    bandwidth: float
    extra_bytes: int
    samples: list[float] = field(default_factory=list)

    @property
    def milliseconds(self) -> float:
        """The median of the samples."""
        return 1000 * statistics.median(self.samples)


def steinbox_contender(x: np.ndarray) -> Contender:
    """Steinbox as a user gets it."""
    weights = np.full(len(x), 1 / len(x))

    def step() -> np.ndarray:
        return x + STEP_SIZE * stein_direction(x, -x, weights, RBF(), Median()(x))

    return Contender("steinbox", "float64", step, Median()(x), peak_bytes(step))


def peak_bytes(step: Callable[[], np.ndarray]) -> int:
    """The most memory that NumPy's arrays of one update held at once."""
    step()
    tracemalloc.start()
    step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def blackjax_contender(x: np.ndarray, precision: str) -> Contender:
    """``blackjax.svgd`` with its median heuristic, scaled to h = med²."""
    optimizer = optax.sgd(STEP_SIZE)
    log_count = math.log(len(x))
    move = blackjax_svgd.build_kernel(optimizer)

    def rbf_kernel(first, second, length_scale):
        return blackjax_svgd.rbf_kernel(first, second, length_scale * log_count)

    def update(particles):
        state = blackjax_svgd.init(particles, {"length_scale": 1.0}, optimizer)
        state = blackjax_svgd.update_median_heuristic(state)
        return move(state, jnp.negative, rbf_kernel).particles

    def bandwidth(particles):
        return log_count * blackjax_svgd.median_heuristic({}, particles)["length_scale"]

    return jax_contender("blackjax", precision, update, bandwidth, x)


def numpyro_contender(x: np.ndarray, precision: str) -> Contender:
    """``numpyro.contrib.einstein.SVGD`` with its median bandwidth at factor one."""
    num_particles, dimension = x.shape

    def model():
        numpyro.sample("x", distributions.Normal(jnp.zeros(dimension, precision), 1).to_event(1))

    def factor(_):
        return 1.0

    svgd = SVGD(model, numpyro.optim.SGD(STEP_SIZE), RBFKernel(bandwidth_factor=factor), num_particles)
    key = jax.random.key(0)
    with jax.enable_x64(precision == "float64"):
        svgd.init(key)

    def update(particles):
        optimizer_state = svgd.optim.init({"x_auto_loc": particles})
        state = SteinVIState(optimizer_state, key, svgd.loss_temperature, svgd.repulsion_temperature)
        return svgd.get_params(svgd.update(state)[0])["x_auto_loc"]

    return jax_contender("numpyro", precision, update, lambda particles: median_bandwidth(particles, factor), x)


def jax_contender(name: str, precision: str, update: Callable, bandwidth: Callable, x: np.ndarray) -> Contender:
    """Compile a peer's update for these particles; a step then runs it to completion."""
    with jax.enable_x64(precision == "float64"):
        particles = jnp.asarray(x, precision)
        compiled = jax.jit(update).lower(particles).compile()
        own_bandwidth = float(jax.jit(bandwidth)(particles))
    extra_bytes = compiled.memory_analysis().temp_size_in_bytes

    def step() -> np.ndarray:
        with jax.enable_x64(precision == "float64"):
            return compiled(particles).block_until_ready()

    return Contender(name, precision, step, own_bandwidth, extra_bytes)


def contenders_for(x: np.ndarray) -> list[Contender]:
    """Steinbox, then each peer in both precisions."""
    peers = [make(x, precision) for make in (blackjax_contender, numpyro_contender) for precision in PRECISIONS]
    return [steinbox_contender(x), *peers]


def direction_difference(peer: Contender, x: np.ndarray) -> float:
    """The largest difference from steinbox's direction at the peer's h, relative to the largest component."""
    moved = np.asarray(peer.step())
    if moved.dtype != peer.precision:
        raise TypeError(f"{peer.name} worked in {moved.dtype}, not in {peer.precision}")
    start = x.astype(peer.precision).astype(float)
    expected = stein_direction(start, -start, np.full(len(x), 1 / len(x)), RBF(), peer.bandwidth)
    return float(np.abs((moved - start) / STEP_SIZE - expected).max() / np.abs(expected).max())


def mean_seconds(step: Callable[[], np.ndarray], calls: int) -> float:
    """The mean time of some calls in a row, after one that is not counted if they are many."""
    if calls > 1:
        step()
    start = time.perf_counter()
    for _ in range(calls):
        step()
    return (time.perf_counter() - start) / calls


def time_interleaved(contenders: list[Contender], repetitions: int) -> None:
    """Round after round, steinbox's turn before every peer's, so that all see the same machine."""
    own, *peers = contenders
    calls = {id(one): max(1, math.ceil(SAMPLE_SECONDS / mean_seconds(one.step, 1))) for one in contenders}
    for _ in range(repetitions):
        for peer in peers:
            for contender in (own, peer):
                contender.samples.append(mean_seconds(contender.step, calls[id(contender)]))


def table_rows(contenders: list[Contender], x: np.ndarray, differences: dict[int, float]) -> Iterator[str]:
    """One line of the table per contender; ``differences`` are by position, of the peers only."""
    for position, contender in enumerate(contenders):
        cells = (
            f"{len(x):,}",
            str(x.shape[1]),
            contender.name,
            contender.precision,
            f"{contender.milliseconds:.2f}",
            f"{1000 * min(contender.samples):.2f}",
            f"{contender.milliseconds / contenders[0].milliseconds:.1f}",
            f"{contender.extra_bytes / 1e6:.1f}",
            f"{contender.bandwidth:.4f}",
            f"{differences[position]:.0e}" if position in differences else "",
        )
        yield f"| {' | '.join(cells)} |"


HEADER = (
    "| n | d | contender | precision | ms (median) | ms (best) | / steinbox | extra MB | h |"
    " max. rel. difference |\n| ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def preamble(command: str) -> str:
    """What the table is, and what it was made with."""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    load = os.getloadavg()[0]
    return f"""# The cost of one SVGD update

`{command}`, {date.today()}; Python {platform.python_version()}, {os.cpu_count()} cores, load at the start {load:.1f};
{versions}.

The column "/ steinbox" is the time over steinbox's own in the same run. "Extra MB" is the peak of NumPy's arrays for
steinbox (tracemalloc) and XLA's temporary buffers for the peers. The last column compares the direction with steinbox's
at the h of the row: the proof that all rows are the same update. See the script's docstring for the contenders.
"""


def benchmark(x: np.ndarray, repetitions: int) -> list[str]:
    """Check, time, and describe all contenders on some particles."""
    contenders = contenders_for(x)
    differences = {position: direction_difference(contenders[position], x) for position in range(1, len(contenders))}
    time_interleaved(contenders, repetitions)
    return list(table_rows(contenders, x, differences))


def main() -> None:
    """Run the chosen sizes, print the table and write it."""
    parser = argparse.ArgumentParser(description="One SVGD update: steinbox, blackjax and numpyro.")
    parser.add_argument("--repetitions", type=int, default=9, help="rounds; above 2,000 points a third of them")
    parser.add_argument("--sizes", type=int, nargs="*", default=[n for n, _ in SIZES], help="which n to run")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = [preamble(" ".join(["python benchmarks/svgd_step.py", *sys.argv[1:]])), HEADER]
    print("\n".join(lines), flush=True)
    for n, d in SIZES:
        if n not in arguments.sizes:
            continue
        x = np.random.default_rng(n).normal(size=(n, d))
        repetitions = arguments.repetitions if n <= 2000 else max(1, arguments.repetitions // 3)
        lines += (rows := benchmark(x, repetitions))
        print("\n".join(rows), flush=True)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
