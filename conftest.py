"""Runs every Python and bash block of README.md and docs/ as a test, each page in an empty folder of its own."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sybil import Document, Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser


def enter_empty_folder(namespace: dict) -> None:
    """Before a page's first block."""
    stack = namespace["_stack"] = contextlib.ExitStack()
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    stack.enter_context(contextlib.chdir(folder))


def leave_folder(namespace: dict) -> None:
    """After a page's last block."""
    namespace["_stack"].close()


def run_bash(example: Example) -> str | None:
    """Run a bash block with this environment's commands first on the path; its output is shown if it fails."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    outcome = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example.parsed], capture_output=True, text=True, env=environment, check=False
    )
    return None if outcome.returncode == 0 else outcome.stdout + outcome.stderr


class WriteFile(CodeBlockParser):
    """A Python block that starts with ``# model.py`` is also written to that file, for the commands after it."""

    language = "python"

    def evaluate(self, example: Example) -> None:
        first_line = example.parsed.splitlines()[0]
        if first_line.startswith("# ") and first_line.endswith(".py"):
            Path(first_line.removeprefix("# ")).write_text(example.parsed)
            return
        PythonEvaluator()(example)


pytest_collect_file = Sybil(
    parsers=[SkipParser(), WriteFile(), CodeBlockParser(language="bash", evaluator=run_bash)],
    patterns=["README.md", "docs/*.md"],
    setup=enter_empty_folder,
    teardown=leave_folder,
    document_types={".md": Document},
).pytest()
