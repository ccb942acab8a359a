"""Faults around a run: of workers, executors, files, servers and numbers. Each has tests, and most can happen to peers.

A table of how many tests pass, and of what ``around.py`` sees when the same happens to steinbox and to other samplers.
``python benchmarks/faults/run.py --tables around`` writes it (some fifteen minutes, of which most are of peers that
hang). For the tests, ``requirements-dev.txt`` is needed beside what ``run.py`` needs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET

from around import watch_case

ROOT = Path(__file__).parents[2]
EXECUTORS, OWN = "tests/evaluation/test_executors.py", "tests/evaluation/test_own_processes.py"
FILES, UNWRITABLE = "tests/common/test_files.py", "tests/run/test_unwritable.py"
HANGING, DASK = "tests/run/test_hanging_calls.py", "tests/evaluation/test_dask_faults.py"
ARITHMETIC, SERVER = "tests/run/test_arithmetic.py", "tests/adapters/test_hostile_server.py"
CASES = (  # what happens, what is wanted, the tests
    ("a process grows and is started anew", "no point is lost", OWN, "grows_and_is_started_anew"),
    ("the parent is killed while workers start", "they end, too", OWN, "parent_that_is_killed_while_they_start"),
    ("the user's pool is shut down", "a valid result", EXECUTORS, "shut_down_in_mid_run or breaks_while_it_is_idle"),
    (
        "the checkpoint's folder turns read-only, or goes",
        "a valid result, a warning",
        UNWRITABLE,
        "read_only or disappears",
    ),
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
    ("all calls hang until the time is up", "a valid result, in time", HANGING, ""),
    ("a Dask cluster loses all workers, or its scheduler", "a valid result", DASK, "cluster"),
)
HAPPENINGS = {  # their names in around.py
    "a process grows and is started anew": "grows",
    "the parent is killed while workers start": "killed while workers start",
    "the user's pool is shut down": "pool ends",
    "the checkpoint's folder turns read-only, or goes": "folder goes",
    "the checkpoint's name is too long": "long name",
    "a folder is where the checkpoint is written": "folder in the way",
    "the function raises a BaseException": "BaseException",
    "a script's function has a cached helper": "cached",
    "log p of ±1e18 and more": "large",
    "np.seterr(all='raise') of the user's": "seterr",
    "a checkpoint that is a link, or a link in its way": "link",
    "a signal to the whole group": "group",
    "first calls slower than the time-out": "slow first",
    "workers are killed again and again": "kills",
    "all calls hang until the time is up": "hangs",
}


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


def table(libraries: list[str], seed: int, limit: float) -> list[str]:
    """What happens, what is wanted, how many tests pass, and what becomes of a run with each library."""
    lines = [
        f"| what happens | what is wanted | tests passed | {' | '.join(libraries)} |",
        f"|---|---|---{'|---' * len(libraries)}|",
    ]
    for what, wanted, path, words in CASES:
        number, passed = run(path, words)
        name = HAPPENINGS.get(what)
        cells = [watch_case(each, name, seed, limit) if name else "–" for each in libraries]
        lines.append(f"| {what} | {wanted} | {passed} of {number} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines
