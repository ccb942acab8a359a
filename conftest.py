"""Runs every Python and bash block of README.md and docs/ as a test, each page in an empty folder of its own.

An ``output`` block holds what the Python block before it printed: the words must be the same, and the numbers close. A
picture that a page shows from ``images/<page>/`` must be written by the page's own code. Both are made anew by ``pytest
docs/tutorial.md --write-outputs``.
"""

import contextlib
import io
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sybil import Document, Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

is_writing = False
NUMBER = re.compile(r"[-−+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
RELATIVE, ABSOLUTE = 0.25, 0.1  # machines round differently, and a run remembers it


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option that writes instead of comparing."""
    parser.addoption("--write-outputs", action="store_true", help="Write what the code of the docs prints and draws.")


def pytest_configure(config: pytest.Config) -> None:
    """Keep it for the examples, which know no configuration."""
    global is_writing
    is_writing = config.getoption("--write-outputs")


def enter_empty_folder(namespace: dict) -> None:
    """Before a page's first block."""
    stack = namespace["_stack"] = contextlib.ExitStack()
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    stack.enter_context(contextlib.chdir(folder))
    namespace["_printed"], namespace["_new_outputs"] = io.StringIO(), []


def leave_folder(namespace: dict) -> None:
    """After a page's last block."""
    try:
        if page := namespace.get("_page"):
            _check_pictures(page)
            _write_outputs(page, namespace["_new_outputs"])
    finally:
        namespace["_stack"].close()


def _check_pictures(page: Path) -> None:
    """Pictures that a page shows as its own are those that its code wrote."""
    for name in set(re.findall(rf"images/{page.stem}/([\w.-]+)", page.read_text())):
        assert Path(name).exists(), f"{page.name} shows images/{page.stem}/{name}, which its code did not write"
        if is_writing:
            (page.parent / "images" / page.stem).mkdir(exist_ok=True)
            shutil.copy(name, page.parent / "images" / page.stem / name)


def _write_outputs(page: Path, outputs: list[tuple[int, int, str]]) -> None:
    text = page.read_text()
    for start, end, printed in reversed(outputs):
        text = text[:start] + printed + text[end:]
    if outputs:
        page.write_text(text)


def run_bash(example: Example) -> str | None:
    """Run a bash block with this environment's commands first on the path; its output is shown if it fails."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    outcome = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example.parsed], capture_output=True, text=True, env=environment, check=False
    )
    return None if outcome.returncode == 0 else outcome.stdout + outcome.stderr


class RunPython(CodeBlockParser):
    """A Python block; one that starts with ``# model.py`` is only written to that file, for the commands after it."""

    language = "python"

    def evaluate(self, example: Example) -> None:
        example.namespace["_page"] = Path(example.path)
        first_line = example.parsed.splitlines()[0]
        if first_line.startswith("# ") and first_line.endswith(".py"):
            Path(first_line.removeprefix("# ")).write_text(example.parsed)
            return
        printed = example.namespace["_printed"] = io.StringIO()
        with contextlib.redirect_stdout(printed):
            PythonEvaluator()(example)


def compare_output(example: Example) -> str | None:
    """Compare an ``output`` block with what the block before it printed."""
    printed = _clean(example.namespace["_printed"].getvalue())
    if is_writing:
        start = example.start + example.parsed.offset
        example.namespace["_new_outputs"].append((start, start + len(example.parsed), printed))
        return None
    if _agree(_clean(example.parsed), printed):
        return None
    return f"The page shows\n\n{example.parsed}\nbut the code printed\n\n{printed}"


def _clean(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def _agree(shown: str, printed: str) -> bool:
    """The same words, and numbers that differ by rounding that has grown on the way."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(math.isclose(_number(a), _number(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE) for a, b in pairs)


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


pytest_collect_file = Sybil(
    parsers=[
        SkipParser(),
        RunPython(),
        CodeBlockParser(language="bash", evaluator=run_bash),
        CodeBlockParser(language="output", evaluator=compare_output),
    ],
    patterns=["README.md", "docs/*.md"],
    setup=enter_empty_folder,
    teardown=leave_folder,
    document_types={".md": Document},
).pytest()
