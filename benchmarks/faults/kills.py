"""A run that is killed again and again and resumed must end with the same result, bit for bit.

A child process runs ``sb.sample`` with a checkpoint and is killed by SIGKILL: half of the times after a random while,
and half of the times when it opens, renames or removes a file of the checkpoint, the last write of the run included.
Then the same call is made again, until a child ends by itself. What it returns is compared with a run that nobody
disturbed: particles, weights, log-densities, all evaluated points, and their number.

``python benchmarks/faults/kills.py --kills 1000`` prints a table (some ten minutes on two cores).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import steinbox as sb

START = sb.Gaussian([0.0, 0.0], std=3)
RESULTS = Path(__file__).parent.parent / "results"
MAX_ATTEMPTS = 40  # after so many kills a run is left in peace
MEAN_FRACTION = 0.3  # of a whole run's time or events, on average, until a child is killed


def banana(x: np.ndarray) -> float:
    return float(-(x[0] ** 2) / 8 - 2 * (x[1] - (x[0] ** 2 - 4) / 2) ** 2)


def sample(path: str, **settings: Any) -> sb.Result:
    return sb.sample(banana, START, num_particles=50, seed=0, checkpoint=path, **settings)


def sample_with_threads(path: str) -> sb.Result:
    with ThreadPoolExecutor(4) as threads:
        return sample(path, max_evals=1_500, executor=threads, asynchronous=False)


CASES: dict[str, tuple[Callable[[str], sb.Result], float]] = {  # a run, and its share of the kills
    "default": (partial(sample, max_evals=3_000), 0.4),
    "default, two processes": (partial(sample, max_evals=1_500, executor=2), 0.1),
    "default, four threads": (sample_with_threads, 0.2),
    "AnnealedGFSVGD": (partial(sample, max_evals=2_000, method=sb.AnnealedGFSVGD()), 0.15),
    "SMC": (partial(sample, max_evals=2_000, method=sb.baselines.SMC()), 0.15),
}


@dataclass(frozen=True)
class Outcome:
    """How often children of one case were killed, at which moments, and how many runs ended well and otherwise."""

    kills: int
    in_writes: int
    identical: int
    different: int


def digest(result: sb.Result) -> bytes:
    """Of all numbers of a result."""
    arrays = [result.particles, result.weights, result.log_prob, result.pool, np.array(result.num_evals)]
    arrays = [each for each in arrays if each is not None]
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).digest()


def start(run: Callable[[str], sb.Result], path: Path, event: int | None, count_path: Path | None = None) -> int:
    """Fork a child that runs it, and kills itself at this event of the checkpoint's files, if one is given."""
    child = os.fork()
    if child:
        return child
    os.setsid()
    seen = [0]

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        if name in ("open", "os.rename", "os.remove") and path.name in str(arguments[0]):
            seen[0] += 1
            if seen[0] == event:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    try:
        answer = digest(run(str(path)))
        if count_path is not None:
            count_path.write_text(str(seen[0]))
        path.with_suffix(".answer").write_bytes(answer)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def finish(run: Callable[[str], sb.Result], path: Path) -> tuple[bytes, float, int]:
    """The result of an undisturbed run, its seconds, and the number of its events."""
    began = time.perf_counter()
    count = path.with_suffix(".count")
    os.waitpid(start(run, path, None, count), 0)
    return path.with_suffix(".answer").read_bytes(), time.perf_counter() - began, int(count.read_text())


def torment(
    run: Callable[[str], sb.Result], folder: Path, kills_wanted: int, rng: np.random.Generator, show: Callable[[], None]
) -> Outcome:
    """Kill and resume runs until there were so many kills."""
    reference, seconds, num_events = finish(run, folder / "undisturbed.ckpt")
    kills = in_writes = identical = different = number = 0
    while kills < kills_wanted:
        path = folder / f"run{(number := number + 1)}.ckpt"
        for attempt in range(MAX_ATTEMPTS + 1):
            left_in_peace = attempt == MAX_ATTEMPTS or kills >= kills_wanted
            in_write = bool(rng.random() < 0.5) and not left_in_peace
            event = 1 + int(rng.exponential(MEAN_FRACTION * num_events)) if in_write else None
            child = start(run, path, event)
            if not in_write and not left_in_peace:
                time.sleep(rng.exponential(MEAN_FRACTION * seconds))
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            if not os.WIFSIGNALED(status):
                break
            kills, in_writes = kills + 1, in_writes + in_write
            show()
        answer = path.with_suffix(".answer")
        is_same = answer.exists() and answer.read_bytes() == reference
        identical, different = identical + is_same, different + (not is_same)
    return Outcome(kills, in_writes, identical, different)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    command = f"python benchmarks/faults/kills.py --kills {arguments.kills}"
    lines = [f"`{command}`, {date.today()}.", "", "| run | kills | of them in a write | runs that ended | identical |"]
    lines.append("|---|---|---|---|---|")
    rng, done = np.random.default_rng(arguments.seed), [0]

    def show() -> None:
        done[0] += 1
        print(f"\r{done[0]} kills", end="", file=sys.stderr, flush=True)

    for name, (run, share) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            each = torment(run, Path(folder), round(share * arguments.kills), rng, show)
        ended = each.identical + each.different
        lines.append(f"| {name} | {each.kills} | {each.in_writes} | {ended} | {each.identical} |")
    print(file=sys.stderr)
    print("\n".join(lines))
    (RESULTS / "kills.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
