r"""What one bad call in fifty does to a run: steinbox, emcee, zeus, dynesty and nautilus, each with two workers.

The target is the standard Gaussian in three dimensions (uniform prior on [−5, 5]³ for the nested samplers), and pays
about 10,000 evaluations. At one point in fifty, chosen by a hash of the point and so the same for everybody, log_prob
returns NaN, −inf or +inf, raises, hangs for 10 seconds (five points and no more), or its process is killed (three
points and no more). steinbox runs with ``timeout=1``; the others have no such setting. The chains start at good points;
the nested samplers draw their own first points, and steinbox too, bad ones among them.

Every case is a process of its own with a time limit. The cells:

- "ok, mean .03 sd .02 (4 s)": the run came to its end; the largest error of a coordinate's mean, and of its standard
  deviation (which is 1); the seconds it took. "reported" or "not reported": whether the number of points that failed
  is in what the library returned or printed. −inf is an answer and no failure, and so is one that comes after a hang.
- "wrong: …": the same, with an error above 0.25; the clean runs are far below.
- "lost: ValueError": the run ended with this exception, and no sample (``SolverError`` is log_prob's own).
- "hangs": no end within the time limit.

The second table compares what steinbox reports with what was injected: the calls that went wrong, the different points
among them, and ``result.failures``. A point that dies or hangs together with others in a block is tried again alone.

A third one, in a file of its own, is of what happens around a run: ``cases.py`` and ``around.py`` explain it.

Run ``pip install -e ".[parallel]" -r requirements-dev.txt emcee zeus-mcmc dynesty nautilus-sampler h5py``, then
``python benchmarks/faults/run.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
from cases import table
from injections import FAULTS, Faulty

RESULTS = Path(__file__).parent.parent / "results"
TABLES = ("faults", "around")
PACKAGES = {
    "steinbox": "steinbox",
    "emcee": "emcee",
    "zeus": "zeus-mcmc",
    "dynesty": "dynesty",
    "nautilus": "nautilus-sampler",
}
KINDS = ("clean", *FAULTS)
REPORTED_AS = {"NaN": "nan", "+inf": "infinite", "exception": "exception", "hang": "timeout", "kill": "dead worker"}
WRONG = 0.25


@dataclass(frozen=True)
class Case:
    """What came of one library with one fault."""

    library: str
    kind: str
    ended: str  # "ok", "hangs", or the name of an exception
    seconds: float
    injected: tuple[str, ...]  # the points of the calls that went wrong
    output: str
    mean_error: float = np.nan
    sd_error: float = np.nan
    failures: dict[str, int] | None = field(default=None)

    @property
    def num_points(self) -> int:
        """How many different points went wrong."""
        return len(set(self.injected))

    @property
    def is_reported(self) -> bool:
        """Whether the number of failures is in the result, or in what was printed."""
        number = re.search(rf"(?<![\d.,]){self.num_points}(?![\d.,])", self.output)
        return number is not None if self.failures is None else sum(self.failures.values()) == self.num_points

    @property
    def cell(self) -> str:
        """What the table says."""
        if self.ended != "ok":
            return self.ended if self.ended == "hangs" else f"lost: {self.ended} ({self.seconds:.0f} s)"
        errors = f"mean {_short(self.mean_error)} sd {_short(self.sd_error)} ({self.seconds:.0f} s)"
        is_right = max(self.mean_error, self.sd_error) <= WRONG  # NaN is not
        failed = self.kind in REPORTED_AS and not (self.kind == "hang" and self.failures is None)
        word = (", reported" if self.is_reported else ", not reported") if failed else ""
        return f"{'ok,' if is_right else 'wrong:'} {errors}{word}"


def _short(number: float) -> str:
    return f"{number:.2f}".removeprefix("0")


def run_case(library: str, kind: str, seed: int, folder: Path) -> None:
    """In the child process: run the library and write what came of it."""
    module = importlib.import_module(f"with_{library}")
    start = time.perf_counter()
    try:
        sample = module.run(Faulty(kind, folder / "journal"), seed)
    except Exception as error:
        report = {"ended": type(error).__name__, "seconds": time.perf_counter() - start}
        (folder / "report.json").write_text(json.dumps(report))
        raise
    report = {
        "ended": "ok",
        "seconds": time.perf_counter() - start,
        "mean_error": float(np.abs(sample.points.mean(axis=0)).max()),
        "sd_error": float(np.abs(sample.points.std(axis=0) - 1).max()),
        "failures": sample.failures,
    }
    if sample.unfinished:
        report["ended"] = sample.unfinished
    (folder / "report.json").write_text(json.dumps(report))


def watch_case(library: str, kind: str, seed: int, limit: float) -> Case:
    """In the parent: run it in a process of its own, and end that with all its workers at the time limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "journal").touch()
        command = [sys.executable, __file__, "--case", library, kind, name, "--seed", str(seed)]
        with (folder / "output").open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                (folder / "report.json").write_text(json.dumps({"ended": "hangs", "seconds": limit}))
            with contextlib.suppress(ProcessLookupError):  # its workers, if it left any
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        report = {"ended": f"exit code {process.returncode}", "seconds": np.nan}
        if (folder / "report.json").exists():
            report = json.loads((folder / "report.json").read_text())
        injected = tuple((folder / "journal").read_text().split())
        return Case(library, kind, injected=injected, output=(folder / "output").read_text(), **report)


def accounts(cases: list[Case]) -> list[str]:
    """The second table: what steinbox counted, and what there was to count."""
    lines = [
        "| fault | calls that went wrong | different points | steinbox reports | equal |",
        "|---|---|---|---|---|",
    ]
    for case in cases:
        if case.library != "steinbox" or case.kind == "clean" or case.failures is None:
            continue
        expected = {REPORTED_AS[case.kind]: case.num_points} if case.kind in REPORTED_AS else {}
        reported = ", ".join(f"{count} {kind}" for kind, count in case.failures.items()) or "no failure"
        equal = "yes" if case.failures == expected else "**no**"
        lines.append(f"| {case.kind} | {len(case.injected)} | {case.num_points} | {reported} | {equal} |")
    return lines


def main() -> None:
    """Run everything and write it."""
    parser = argparse.ArgumentParser(description="The same faults in steinbox and four other samplers.")
    parser.add_argument("--libraries", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a run may take")
    parser.add_argument("--logs", type=Path, help="a folder for what the runs print")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--output", type=Path, default=RESULTS, help="a folder")
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        library, kind, folder = arguments.case
        run_case(library, kind, arguments.seed, Path(folder))
        return
    if "faults" in arguments.tables:
        lines = [*heading(arguments, "faults"), *faults_tables(arguments)]
        (arguments.output / "faults.md").write_text("\n".join(lines) + "\n")
    if "around" in arguments.tables:
        lines = [*heading(arguments, "around"), *table(arguments.libraries, arguments.seed, arguments.limit)]
        (arguments.output / "faults_around.md").write_text("\n".join(lines) + "\n")


def heading(arguments: argparse.Namespace, which: str) -> list[str]:
    """The command, and where it ran."""
    versions = ", ".join(f"{name} {version(package)}" for name, package in PACKAGES.items())
    command = f"python benchmarks/faults/run.py --tables {which} --seed {arguments.seed} --limit {arguments.limit:g}"
    explained = "run.py" if which == "faults" else "around.py"
    return [
        f"`{command}`, {date.today()}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, {versions}, {os.cpu_count()} cores, load at the "
        f"start {os.getloadavg()[0]:.1f}. The docstring of `benchmarks/faults/{explained}` explains the cells.\n"
    ]


def faults_tables(arguments: argparse.Namespace) -> list[str]:
    """What one bad call in fifty does, and what steinbox counts of it."""
    lines = [
        f"| library | {' | '.join(arguments.kinds)} |",
        f"|---{'|---' * len(arguments.kinds)}|",
    ]
    cases = []
    for library in arguments.libraries:
        row = []
        for kind in arguments.kinds:
            row.append(watch_case(library, kind, arguments.seed, arguments.limit))
            print(f"{library}, {kind}: {row[-1].cell}; {len(row[-1].injected)} faulty calls", flush=True)
            if arguments.logs:
                arguments.logs.mkdir(parents=True, exist_ok=True)
                (arguments.logs / f"{library}_{kind}.txt").write_text(row[-1].output)
        cases += row
        lines.append(f"| {library} | {' | '.join(case.cell for case in row)} |")
    return [*lines, "", *accounts(cases)]


if __name__ == "__main__":
    main()
