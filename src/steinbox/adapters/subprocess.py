"""A program as a log-density: it reads the point from standard input and writes the value to standard output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from steinbox.common.arrays import Array

_MAX_ERROR_LINES = 10  # of what a program wrote to stderr, in the error
_MAX_ERROR_CHARACTERS = 1_000
_MAX_SHOWN = 79  # characters of a last line that is not a number


class ProgramError(RuntimeError):
    """The program could not be started, crashed, took too long, or wrote no number."""


class Subprocess:
    """The log-density that a program computes, one run for each point.

    The program reads the point, one line, from its standard input, and writes one number as the last line of its
    standard output: ``-inf`` outside the support. Any exit code but zero means that it failed. It is started directly,
    without a shell.

    Parameters
    ----------
    command : str, Path, or sequence of them
        The program, or a list of the program and its arguments.
    timeout : float, optional
        Seconds after which the program, and all that it started, is killed.
    input : {"json", "text"}
        The point as a JSON list, ``[0.1, 2.0]``, or as numbers with spaces between, ``0.1 2.0``; to the last digit.
    cwd : str or Path, optional
        The folder in which the program runs; that of this process if not given.
    env : mapping, optional
        Environment variables for the program, besides those of this process.

    Raises
    ------
    ProgramError
        When called, if the program fails: why, and the last lines that it wrote to its standard error.

    Examples
    --------
    >>> import sys
    >>> program = "import json, sys; x = json.load(sys.stdin); print(-0.5 * sum(value**2 for value in x))"
    >>> log_prob = Subprocess([sys.executable, "-c", program], timeout=10)
    >>> log_prob(np.array([1.0, 2.0]))
    -2.5
    """

    def __init__(
        self,
        command: str | Path | Sequence[str | Path],
        *,
        timeout: float | None = None,
        input: Literal["json", "text"] = "json",  # noqa: A002
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        parts = (command,) if isinstance(command, (str, Path)) else tuple(command)
        if not parts or not all(isinstance(part, (str, Path)) for part in parts):
            raise TypeError(f"expected command to be a program, or a list of it and its arguments, got {command!r}")
        if input not in ("json", "text"):
            raise ValueError(f"expected input to be 'json' or 'text', got {input!r}")
        if timeout is not None and not timeout > 0:
            raise ValueError(f"expected timeout to be a positive number of seconds, got {timeout!r}")
        self.command = tuple(map(str, parts))
        self.timeout, self.input, self.cwd = timeout, input, cwd
        self.env = None if env is None else dict(env)

    def __call__(self, x: Array) -> float:
        """Run the program at a point, (d,), and return the value that it writes."""
        line = self._line(x)
        try:
            process = self._start()
        except OSError as error:
            raise self._error(f"could not be started: {error.strerror}: {error.filename}{self._hint()}") from error
        output, errors = self._communicate(process, line)
        if process.returncode != 0:
            raise self._error(_describe_exit(process.returncode), errors)
        return self._number(output, errors)

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env=None if self.env is None else {**os.environ, **self.env},
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )

    def _communicate(self, process: subprocess.Popen[str], line: str) -> tuple[str, str]:
        """What the program wrote to its standard output and error; an interrupt or a time-out kills it."""
        with process:
            try:
                return process.communicate(line, self.timeout)
            except subprocess.TimeoutExpired as error:
                has_ended = process.poll() is not None
                _kill(process)
                message = f"gave no answer within timeout={self.timeout} seconds and was killed"
                if has_ended:
                    message = f"ended, but what it started held its output open beyond timeout={self.timeout} seconds"
                raise self._error(message, _decode(error.stderr)) from None
            except BaseException:
                _kill(process)
                raise

    def _line(self, x: Array) -> str:
        values = np.asarray(x, dtype=np.float64).tolist()
        return (json.dumps(values) if self.input == "json" else " ".join(map(repr, values))) + "\n"

    def _number(self, output: str, errors: str) -> float:
        lines = output.strip().splitlines()
        if not lines:
            raise self._error("expected one number as the last line of output, got no output", errors)
        last = lines[-1].strip()
        try:
            return float(last)
        except ValueError:
            shown = last if len(last) <= _MAX_SHOWN else last[: _MAX_SHOWN - 2] + "..."
            raise self._error(f"expected one number as the last line of output, got {shown!r}", errors) from None

    def _error(self, message: str, errors: str = "") -> ProgramError:
        lines = errors.rstrip()[-_MAX_ERROR_CHARACTERS:].splitlines()[-_MAX_ERROR_LINES:]
        wrote = "\n".join(["; the last it wrote to stderr:", *lines]) if lines else ""
        return ProgramError(f"{self.command[0]}: {message}{wrote}")

    def _hint(self) -> str:
        has_spaces = len(self.command) == 1 and " " in self.command[0]
        return " (there is no shell: give the program and its arguments as a list)" if has_spaces else ""


def _describe_exit(code: int) -> str:
    if code > 0:
        return f"expected exit code 0, got {code}"
    names = {each.value: each.name for each in signal.Signals}
    return f"was killed by the signal {names.get(-code, -code)}"


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a program and all that it started in its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _decode(captured: str | bytes | None) -> str:
    """What was read before a time-out, which Python does not decode."""
    return captured.decode(errors="replace") if isinstance(captured, bytes) else captured or ""
