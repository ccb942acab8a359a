r"""Samplers other than the default: how busy workers are, and which part of the wall clock steinbox itself takes.

In virtual time; a Gaussian in 10 dimensions, 200 particles, 6,000 evaluations, which are 30 steps of each chain. Markov
chains are run in batches and one by one (``asynchronous=True``); the second table has chains that make 100 steps. The
third says what a lead costs: the error of means and standard deviations, in standard deviations of the target.

Stein samplers and SMC need whole batches. What could be gained by preparing a part of the next batch while workers are
busy is at most the time that steinbox takes between two batches: its processor time, as a part of the wall clock, is in
the last table.

Run ``OPENBLAS_NUM_THREADS=1 python benchmarks/scale/other_methods.py``; the tables go to
``benchmarks/results/scale_methods.md``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from virtual import TIMES, VirtualRun, virtual_time

import steinbox as sb

RESULTS = Path(__file__).parents[1] / "results" / "scale_methods.md"
CHAINS = {
    "RandomWalkMetropolis(step=0.6)": sb.baselines.RandomWalkMetropolis(step=0.6),  # nothing to learn
    "AdaptiveMetropolis()": sb.baselines.AdaptiveMetropolis(),  # chains learn from each other in the first half
    "AdaptiveMetropolis(lead=4)": sb.baselines.AdaptiveMetropolis(lead=4),  # and may be ahead of the slowest
    "AdaptiveMetropolis(lead=8)": sb.baselines.AdaptiveMetropolis(lead=8),
}
BATCHES = {
    "AnnealedGFSVGD()": sb.AnnealedGFSVGD(),
    "SMC()": sb.baselines.SMC(),
}
WORKERS, OWN_WORKERS = (8, 32, 128), 32
NUM_SEEDS = 10


def log_prob(x: np.ndarray) -> float:
    z = (x - 1.0) / 0.7
    return -0.5 * float(z @ z)


def run(
    method: sb.Method, times: str, num_workers: int, *, asynchronous: bool, is_charged: bool, max_evals: int = 6_000
) -> VirtualRun:
    with virtual_time(num_workers, TIMES[times], is_charged=is_charged) as virtual:
        sb.sample(
            log_prob,
            sb.Gaussian(np.zeros(10), std=3.0),
            method=method,
            max_evals=max_evals,
            executor=1,
            asynchronous=asynchronous,
            progress=False,
            seed=0,
        )
    return virtual


def chain_rows() -> list[str]:
    lines = [f"| chains | times | mode | {' | '.join(f'{n} workers' for n in WORKERS)} |", f"|{'---|' * 6}"]
    for name, method in CHAINS.items():
        for times in TIMES:
            for asynchronous in (False, True):
                runs = [run(method, times, n, asynchronous=asynchronous, is_charged=True) for n in WORKERS]
                cells = " | ".join(f"{each.efficiency:.2f} ({each.clock.now:.0f} s)" for each in runs)
                lines.append(f"| {name} | {times} | {'one by one' if asynchronous else 'batches'} | {cells} |")
                print(lines[-1], flush=True)
    return lines


def long_rows(chains: dict[str, sb.Method] = CHAINS) -> list[str]:
    """The same, one by one, for chains that make more steps."""
    lines = [f"| chains, 100 steps | times | {' | '.join(f'{n} workers' for n in WORKERS)} |", f"|{'---|' * 5}"]
    for name, method in chains.items():
        settings = {"asynchronous": True, "is_charged": True, "max_evals": 20_000}
        runs = [run(method, "lognormal", n, **settings) for n in WORKERS]
        cells = " | ".join(f"{each.efficiency:.2f} ({each.clock.now:.0f} s)" for each in runs)
        lines.append(f"| {name} | lognormal | {cells} |")
        print(lines[-1], flush=True)
    return lines


def error_rows() -> list[str]:
    """Root mean square errors; 200 exact draws would have 0.071 and 0.050."""
    lines = ["| chains | steps | error of means | error of standard deviations |", "|---|---|---|---|"]
    target = sb.Gaussian(np.ones(10), std=0.7)
    for name, method in CHAINS.items():
        for steps in (30, 100):
            z = np.array([(ends(method, target, steps, seed) - 1.0) / 0.7 for seed in range(NUM_SEEDS)])
            of_means, of_stds = z.mean(axis=1), z.std(axis=1) - 1
            cells = " | ".join(f"{np.sqrt((each**2).mean()):.3f}" for each in (of_means, of_stds))
            lines.append(f"| {name} | {steps} | {cells} |")
            print(lines[-1], flush=True)
    return lines


def ends(method: sb.Method, target: sb.Gaussian, steps: int, seed: int) -> np.ndarray:
    settings = {"max_evals": 200 * steps, "vectorized": True, "asynchronous": True, "progress": False, "seed": seed}
    return sb.sample(target.log_prob, sb.Gaussian(np.zeros(10), std=3.0), method=method, **settings).particles


def own_rows() -> list[str]:
    """The difference that charging makes: times are drawn by number, so that both runs are the same otherwise."""
    lines = [f"| method | {OWN_WORKERS} workers |", "|---|---|"]
    for name, method in BATCHES.items():
        free, charged = (
            run(method, "lognormal", OWN_WORKERS, asynchronous=False, is_charged=each).clock.now
            for each in (False, True)
        )
        lines.append(f"| {name} | {1 - free / charged:.1%} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = ["`python benchmarks/scale/other_methods.py`: work / (workers × wall); in brackets the wall clock.\n"]
    lines += chain_rows()
    lines += ["\nOne by one, with more steps:\n"]
    lines += long_rows()
    lines += [f"\nErrors of the ends of 200 chains, {NUM_SEEDS} seeds (200 exact draws: 0.071 and 0.050):\n"]
    lines += error_rows()
    lines += ["\nSteinbox's own processor time as a part of the wall clock, lognormal calls of 50 ms, in batches:\n"]
    lines += own_rows()
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
