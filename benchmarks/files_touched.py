"""Which files of steinbox a run goes through: how much there is to read to understand it.

A file counts if a function of it is called between the call of ``sb.sample`` and its return; what runs when a module is
imported does not. ``python benchmarks/files_touched.py`` prints the files of three runs: the default on a banana, the
default on a harder problem with few evaluations (so that search and refinement take part), and ``AnnealedGFSVGD``.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import steinbox as sb

PACKAGE = Path(sb.__file__).parent
START = sb.Gaussian([0, 0], std=3)
TWO_MODES, BESIDE_ONE = sb.targets.separated_modes(dimension=4), sb.Gaussian(np.full(4, -3.0), std=2)


def banana(x: np.ndarray) -> np.ndarray:  # our own: a target's file is none of the sampler's
    return -(x[:, 0] ** 2) / 8 - 2 * (x[:, 1] - (x[:, 0] ** 2 - 4) / 2) ** 2


def default() -> None:
    sb.sample(banana, START, vectorized=True, max_evals=20_000, seed=0)


def default_searches_and_refines() -> None:
    sb.sample(TWO_MODES.log_prob, BESIDE_ONE, vectorized=True, num_particles=100, max_evals=1_200, seed=0)


def annealed_gf_svgd() -> None:
    method = sb.AnnealedGFSVGD()
    sb.sample(banana, START, vectorized=True, method=method, num_particles=100, max_evals=5_000, seed=0)


RUNS: dict[str, tuple[Callable[[], None], int]] = {  # what is run, and the most files it should take
    "default, banana": (default, 30),
    "default, two modes, few evaluations": (default_searches_and_refines, 30),
    "AnnealedGFSVGD, banana": (annealed_gf_svgd, 22),
}
AROUND = ("sample.py", "run", "evaluation")  # every run goes through these, whatever the algorithm


def files_called(run: Callable[[], None]) -> Counter[str]:
    """The files of steinbox with a function that the run calls, and how many different functions of each."""
    seen: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)  # the bodies of modules and classes are not
        if event == "call" and is_function and code.co_filename.startswith(str(PACKAGE)):
            seen.add((code.co_filename, code.co_qualname))

    run()  # once before: what is imported when it is first used does not count
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return Counter(str(Path(path).relative_to(PACKAGE)) for path, _ in seen)


def main() -> None:
    for name, (run, most) in RUNS.items():
        files = files_called(run)
        lines = sum(len((PACKAGE / file).read_text().splitlines()) for file in files)
        algorithm = [file for file in files if file.split("/")[0] not in AROUND]
        print(f"{name}: {len(files)} files (at most {most} wanted), {files.total()} functions; {lines:,} lines in all")
        print(f"  the algorithm: {len(algorithm)} files; the loop, evaluations and files around it: the others")
        for file in sorted(files):
            print(f"  {file}  {files[file]}")


if __name__ == "__main__":
    main()
