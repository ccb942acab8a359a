r"""How busy emcee, dynesty and nautilus keep the workers of a pool, beside steinbox: work / (workers × wall).

In virtual time, on the target of ``efficiency.py`` and with its times: N(1, 0.7² I) in 10 dimensions from N(0, 9 I),
which is the prior of the nested samplers; calls of 50 ms on average. All see the pool that they ask for, an object with
``map``: a worker that is free takes the next item (in pieces of one, which no real pool beats), and ``map`` ends with
the last. What a library itself does takes its processor time; what it does inside an item, fits of networks among
it, takes it on that worker. steinbox and emcee have 20,000 evaluations (steinbox may stop early), emcee at least twenty
walkers, twice or eight times as many as workers; dynesty ends by itself, and so does nautilus if 20,000 evaluations are
enough. The errors are those of the mean and of the standard deviation, root mean squares over the coordinates in
standard deviations of the target: of steinbox's pool, of the
second half of emcee's chains, of the weighted samples of the others.

The second table is the same with real threads that sleep, for steinbox and emcee, lognormal times and many workers.

Run ``pip install emcee dynesty nautilus-sampler``, then ``OPENBLAS_NUM_THREADS=1 python benchmarks/scale/pools.py``;
the tables go to ``benchmarks/results/scale_pools.md``.
"""

from __future__ import annotations

import argparse
import copy
import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dynesty
import emcee
import nautilus
import numpy as np
from efficiency import DIMENSION, MEAN, STD, log_prob
from scipy.special import ndtri
from virtual import TIMES, Clock, Seconds, virtual_time

import steinbox as sb

RESULTS = Path(__file__).parents[1] / "results" / "scale_pools.md"
WORKERS, REAL_WORKERS, BUDGET, START_STD, SEED = (8, 32, 128), (32, 128), 20_000, 3.0, 0


@dataclass(eq=False)
class VirtualPool:
    """Workers whose ``map`` ends, by the clock, with the last of its items; also the log-density that they call.

    Processes have copies of what they are sent; where a library relies on that, there must be some here.
    """

    size: int
    seconds: Seconds
    clock: Clock = field(default_factory=lambda: Clock(is_charged=True))
    sends_copies: bool = False
    work: float = 0.0
    num_calls: int = 0
    _in_item: float = 0.0

    def log_prob(self, x: np.ndarray) -> float:
        value = log_prob(x)
        taken = self.seconds(self.num_calls, value)
        self.num_calls += 1
        self.work += taken
        self._in_item += taken
        return value

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        self.clock.charge()
        free, outcomes = [self.clock.now] * self.size, []
        for item in items:
            call = copy.deepcopy(function) if self.sends_copies else function
            self._in_item, start = 0.0, time.thread_time()
            outcomes.append(call(item))
            heapq.heapreplace(free, free[0] + self._in_item + time.thread_time() - start)
        self.clock.now = max(free)
        self.clock.rest()
        return outcomes

    def time(self, run: Callable[[], Answer]) -> tuple[Answer, float]:
        """What a run gave, and its wall clock."""
        self.clock.rest()
        answer = run()
        self.clock.charge()
        return answer, self.clock.now


@dataclass(eq=False)
class SleepingPool(ThreadPoolExecutor):
    """The same with threads that sleep."""

    size: int
    seconds: Seconds
    work: float = 0.0
    num_calls: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.size)
        self.lock = threading.Lock()

    def log_prob(self, x: np.ndarray) -> float:
        value = log_prob(x)
        with self.lock:
            taken = self.seconds(self.num_calls, value)
            self.num_calls += 1
            self.work += taken
        time.sleep(taken)
        return value

    def time(self, run: Callable[[], Answer]) -> tuple[Answer, float]:
        start = time.perf_counter()
        return run(), time.perf_counter() - start


@dataclass(frozen=True)
class Answer:
    """Weighted points."""

    points: np.ndarray
    weights: np.ndarray

    @property
    def errors(self) -> tuple[float, float]:
        weights = self.weights / self.weights.sum()
        mean = weights @ self.points
        std = np.sqrt(weights @ (self.points - mean) ** 2)
        return tuple(float(np.sqrt(np.mean((each / STD) ** 2))) for each in (mean - MEAN, std - STD))


def sample(density: Callable[[np.ndarray], float], executor: Any, *, asynchronous: bool) -> sb.Result:
    start = sb.Gaussian(np.zeros(DIMENSION), std=START_STD)
    settings = {"max_evals": BUDGET, "executor": executor, "asynchronous": asynchronous, "progress": False}
    return sb.sample(density, start, seed=SEED, **settings)


def as_answer(result: sb.Result) -> Answer:
    return Answer(result.pool, result.pool_weights)


def with_emcee(pool: VirtualPool | SleepingPool, walkers: int) -> Answer:
    num_walkers = max(walkers * pool.size, 2 * DIMENSION)
    np.random.seed(SEED)  # noqa: NPY002  # emcee draws from the global generator
    start = START_STD * np.random.default_rng(SEED).standard_normal((num_walkers, DIMENSION))
    sampler = emcee.EnsembleSampler(num_walkers, DIMENSION, pool.log_prob, pool=pool)
    num_steps = BUDGET // num_walkers - 1  # the start is evaluated, too
    sampler.run_mcmc(start, num_steps, skip_initial_state_check=True)
    points = sampler.get_chain(discard=num_steps // 2, flat=True)
    return Answer(points, np.ones(len(points)))


def from_cube(u: np.ndarray) -> np.ndarray:
    return START_STD * ndtri(u)


def over_prior(pool: VirtualPool) -> Callable[[np.ndarray], float]:
    """The log-likelihood whose posterior is the target."""
    return lambda x: pool.log_prob(x) + 0.5 * float(x @ x) / START_STD**2


def with_dynesty(pool: VirtualPool) -> Answer:
    rng = np.random.default_rng(SEED)
    sampler = dynesty.NestedSampler(over_prior(pool), from_cube, DIMENSION, pool=pool, rstate=rng)
    sampler.run_nested(print_progress=False)
    return Answer(sampler.results.samples, sampler.results.importance_weights())


def with_nautilus(pool: VirtualPool) -> Answer:
    pools = pool, VirtualPool(4, pool.seconds, pool.clock, sends_copies=True)  # for calls, and for its four networks
    sampler = nautilus.Sampler(from_cube, over_prior(pool), n_dim=DIMENSION, pass_dict=False, pool=pools, seed=SEED)
    sampler.run(n_like_max=BUDGET)
    points, log_weights, _ = sampler.posterior()
    return Answer(points, np.exp(log_weights - log_weights.max()))


PEERS = {
    "emcee, 2 × workers": lambda pool: with_emcee(pool, 2),
    "emcee, 8 × workers": lambda pool: with_emcee(pool, 8),
    "dynesty": with_dynesty,
    "nautilus": with_nautilus,
}
OWN = {"steinbox, batches": False, "steinbox, asynchronous": True}


def virtual_cell(name: str, times: str, num_workers: int) -> str:
    if name in OWN:
        with virtual_time(num_workers, TIMES[times], is_charged=True) as virtual:
            result = sample(log_prob, 1, asynchronous=OWN[name])
        return cell(virtual.efficiency, virtual.clock.now, result.num_evals, as_answer(result))
    pool = VirtualPool(num_workers, TIMES[times])
    answer, wall = pool.time(lambda: PEERS[name](pool))
    return cell(pool.work / (num_workers * wall), wall, pool.num_calls, answer)


def real_cell(name: str, times: str, num_workers: int) -> str:
    with SleepingPool(num_workers, TIMES[times]) as pool:
        if name in OWN:
            answer, wall = pool.time(lambda: as_answer(sample(pool.log_prob, pool, asynchronous=OWN[name])))
        else:
            answer, wall = pool.time(lambda: PEERS[name](pool))
    return cell(pool.work / (num_workers * wall), wall, pool.num_calls, answer)


def cell(efficiency: float, wall: float, num_calls: int, answer: Answer) -> str:
    of_mean, of_std = answer.errors
    return f"{efficiency:.2f} ({wall:.0f} s, {num_calls:,}; {of_mean:.3f}, {of_std:.3f})"


def table(
    names: Sequence[str], all_times: Sequence[str], workers: Sequence[int], make: Callable[..., str]
) -> list[str]:
    lines = [f"| sampler | times | {' | '.join(f'{n} workers' for n in workers)} |", f"|{'---|' * (2 + len(workers))}"]
    for times, name in itertools.product(all_times, names):
        cells = [make(name, times, num_workers) for num_workers in workers]
        lines.append(f"| {name} | {times} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    with_threads = [*OWN, *(each for each in arguments.peers if each.startswith("emcee"))]
    lines = [
        "`python benchmarks/scale/pools.py`: work / (workers × wall); in brackets the wall clock, the evaluations, and "
        f"the errors of mean and standard deviation. {versions()}\n",
        *table([*OWN, *arguments.peers], list(TIMES), WORKERS, virtual_cell),
        "\nWith threads that sleep, in real time:\n",
        *table(with_threads, ["lognormal"], REAL_WORKERS, real_cell),
    ]
    arguments.output.write_text("\n".join(lines) + "\n")


def versions() -> str:
    return ", ".join(f"{module.__name__} {module.__version__}" for module in (sb, emcee, dynesty, nautilus)) + "."


if __name__ == "__main__":
    main()
