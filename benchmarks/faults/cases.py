"""Faults around a run: of workers, executors, files, servers and numbers. Each has tests.

``python benchmarks/faults/cases.py`` runs them (a minute or two on two idle cores) and writes a table of what they say.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "faults_around.md"
EXECUTORS, OWN = "tests/evaluation/test_executors.py", "tests/evaluation/test_own_processes.py"
FILES, UNWRITABLE = "tests/common/test_files.py", "tests/run/test_unwritable.py"
ARITHMETIC, SERVER = "tests/run/test_arithmetic.py", "tests/adapters/test_hostile_server.py"
CASES = (  # what happens, what is wanted, and the tests
    ("a process grows and is started anew", "no point is lost", OWN, "grows_and_is_started_anew"),
    ("the parent is killed while workers start", "they end, too", OWN, "parent_that_is_killed_while_they_start"),
    ("the user's pool is shut down", "a valid result", EXECUTORS, "shut_down_in_mid_run or breaks_while_it_is_idle"),
    ("the checkpoint's folder turns read-only", "a valid result, a warning", UNWRITABLE, "read_only or disappears"),
    ("the checkpoint's name is too long", "refused at once", UNWRITABLE, "name_without_room"),
    ("a folder is where the checkpoint is written", "a warning, or refused at once", UNWRITABLE, "a_folder"),
    ("the function raises a BaseException", "one failed point", EXECUTORS, "whatever_is_raised"),
    ("a script's function has a cached helper", "it travels", EXECUTORS, "cached"),
    ("a UM-Bridge server drips, floods, redirects, nests", "one failed point, or words", SERVER, ""),
    ("log p of ±1e18 and more", "zero density, or refused", ARITHMETIC, "such_a_size or too_low or largest"),
    ("np.seterr(all='raise') of the user's", "changes nothing", ARITHMETIC, "told_numpy"),
    ("terminal escapes in a file", "never reach the terminal", FILES, "escapes"),
    ("a checkpoint that is a link, or a link in its way", "kept; not followed", UNWRITABLE, "link"),
    ("a signal to the whole group", "no file stays", OWN, "no_file_stays"),
    ("crafted counters, a zip bomb", "refused", FILES, "counters or right_checksum or lot_of_memory"),
    ("first calls slower than the time-out", "wait for them, not for ever", OWN, "first_calls"),
    ("workers are killed again and again", "a spare one is ready", OWN, "spare"),
)


def run(path: str, words: str) -> tuple[int, int]:
    """How many tests there are, and how many passed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        chosen = ["-k", words] if words else []
        command = [
            sys.executable,
            "-m",
            "pytest",
            path,
            *chosen,
            "-q",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
        ]
        subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
        suites = list(ET.parse(report).iter("testsuite"))
    number = sum(int(suite.get("tests", 0)) for suite in suites)
    others = sum(int(suite.get(kind, 0)) for suite in suites for kind in ("failures", "errors", "skipped"))
    return number, number - others


def main() -> None:
    lines = [
        f"`python benchmarks/faults/cases.py`, {date.today()}.\n",
        "| what happens | what is wanted | tests | passed |",
        "|---|---|---|---|",
    ]
    for what, wanted, path, words in CASES:
        number, passed = run(path, words)
        lines.append(f"| {what} | {wanted} | {number} | {passed} |")
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
