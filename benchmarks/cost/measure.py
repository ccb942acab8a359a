"""Errors of methods after ever more evaluations, and their own seconds: what ``cost_report.py`` calculates with.

Rows go to ``benchmarks/results/cost/cost.csv``; those that are there are not run again. Peers run in environments of
their own, as on real posteriors.

Run ``make bench-cost``, or ``python benchmarks/cost/measure.py``; other options are the runner's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PEERS, PUBLISHED, RESULTS = HERE.parent / "peers", HERE.parent / "published", HERE.parent / "results" / "cost"
sys.path.insert(0, str(PEERS))

from run import environment  # noqa: E402


@dataclass(frozen=True)
class Plan:
    """The budgets of a method, and whose environment it needs."""

    budgets: tuple[int, ...]
    peer: str | None = None


PLANS = {
    "all evaluations": Plan((500, 2_000, 5_000, 20_000)),
    "smc": Plan((2_000, 5_000, 20_000, 100_000, 1_000_000)),
    "emcee": Plan((2_000, 5_000, 20_000, 100_000, 1_000_000), "emcee"),
    "emcee_256": Plan((20_000, 100_000, 1_000_000), "emcee"),
}


def measure(method: str, others: list[str]) -> None:
    plan = PLANS[method]
    python = environment(plan.peer) if plan.peer else sys.executable
    folders = (HERE, PEERS, PEERS / (plan.peer or ""), os.environ.get("PYTHONPATH", ""))
    budgets = ["--budgets", *map(str, plan.budgets), "--num-budgets", str(len(plan.budgets))]
    usual = ["--suites", "cost", "--output", RESULTS, "--method", method, "--seeds", "2", "--limit", "120", *budgets]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    subprocess.run([python, PUBLISHED / "run.py", *usual, *others], env=environ, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=PLANS, default=list(PLANS))
    arguments, others = parser.parse_known_args()
    for method in arguments.methods:
        measure(method, others)


if __name__ == "__main__":
    main()
