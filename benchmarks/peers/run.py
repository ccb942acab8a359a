"""Runs peers, each in an environment of its own, which is made if it is not there: ``.venv-peers/<name>``.

What the environment runs is the runner of ``benchmarks/published``, with the peer's folder on its path. The rows are
those of every method: ``benchmarks/results/real/real.csv``. A run that fails, or does not end within 60 s of processor
time (``--limit``), has a row that says so.

Run ``make bench-peers``, or ``python benchmarks/peers/run.py --peers emcee nautilus``; other options are the runner's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
NAMES = (
    *("emcee", "zeus", "dynesty", "nautilus", "pymc_smc", "ultranest", "pocomc", "pyvbmc", "evosax"),
    *("tempest", "blackjax"),
)
ONE_BY_ONE = ("dynesty", "pymc_smc")  # they evaluate one point at a time, which takes minutes for these models:
SLOW = ("garch_inflation", "switching_growth", "ode_lynx")


def environment(name: str) -> Path:
    """Its Python; made anew if what it requires has changed."""
    folder, requirements = ROOT / ".venv-peers" / name, HERE / name / "requirements.txt"
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists() or ready.stat().st_mtime < requirements.stat().st_mtime:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        data = ROOT / "benchmarks" / "real" / "requirements.txt"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "-e", ROOT, "-r", data, "-r", requirements], check=True)
        ready.touch()
    return python


def run(name: str, options: list[str]) -> None:
    path = os.pathsep.join(str(folder) for folder in (HERE, HERE / name))
    script = ROOT / "benchmarks" / "published" / "run.py"
    subprocess.run(
        [environment(name), script, "--method", name, *options], env={**os.environ, "PYTHONPATH": path}, check=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", nargs="+", choices=NAMES, default=list(NAMES))
    arguments, others = parser.parse_known_args()
    results = ROOT / "benchmarks" / "results" / "real"
    usual = ["--suites", "real", "--output", results, "--budgets", "20000", "--seeds", "5", "--limit", "60"]
    for name in arguments.peers:
        less = ["--without", *SLOW] if name in ONE_BY_ONE else []
        run(name, [*usual, *less, *others])  # of an option that is there twice the last one counts


if __name__ == "__main__":
    main()
