"""What ``sample`` and ``resume`` share: the user's file as arguments of a run, and what is done with its result."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

import steinbox as sb
from steinbox.cli.config import nearest
from steinbox.cli.console import fail, report_written, say, show_json, show_result
from steinbox.cli.files import parse_initial
from steinbox.cli.methods import Method
from steinbox.cli.model import load_model
from steinbox.cli.numbers import describe_result

_EXIT_CODES = {sb.Status.INTERRUPTED: 130, sb.Status.TERMINATED: 143}  # 128 + SIGINT, 128 + SIGTERM, as shells say it
_OF_THE_FILE = ("score", "fixed", "units", "descriptions")


def read_model(model: str, initial: str | None, vectorized: bool | None) -> dict[str, Any]:
    """The arguments of a run that the user's file has, with the function as ``log_prob``."""
    module, function = load_model(model)
    is_model = isinstance(function, sb.Model)
    start = getattr(module, "initial", None) if initial is None else parse_initial(initial)
    names, bounds = (None if is_model else getattr(module, name, None) for name in ("names", "bounds"))
    if start is None and bounds is None and not is_model:
        fail("no initial distribution: give --initial 'mean=0,0 std=3', or define `initial` or `bounds` in the file")
    return {name: getattr(module, name, None) for name in _OF_THE_FILE} | {
        "log_prob": function,
        "initial": start,
        "names": names,
        "bounds": bounds,
        "by_name": getattr(module, "by_name", False),
        "vectorized": getattr(module, "vectorized", False) if vectorized is None else vectorized,
    }


def make_method(method: Method, settings: Mapping[str, Any]) -> sb.Method[Any]:
    """The method with settings of a file, which are numbers, texts, true and false."""
    made = method.make()
    known = list(inspect.signature(type(made)).parameters)
    for name in settings:
        if name not in known:
            fail(f"{type(made).__name__} has no setting {name!r}{nearest(name, known)}")
    try:
        return type(made)(**settings)
    except (TypeError, ValueError) as error:
        fail(f"the settings of {type(made).__name__} are wrong: {error}")


def run_or_exit(**settings: Any) -> sb.Result:
    """Call sample(); print an error it raises as one sentence, after the traceback of the user's function."""
    try:
        return sb.sample(**settings)
    except sb.TargetError as error:
        for note in getattr(error, "__notes__", ()):
            say(note, is_error=True, wrap=False)
        fail(str(error))
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        fail(str(error).replace("give executor=", "give --workers ").replace("executor=2", "--workers 2"))


def finish(result: sb.Result, out: Path, options: Mapping[str, Any], *, as_json: bool) -> None:
    """Write the result with the options it was made by, print it, and exit with the code of an interrupted run."""
    result = replace(result, config={**result.config, "options": dict(options)})
    result.save(out)
    if as_json:
        show_json({**describe_result(result), "file": str(out)})
    else:
        show_result(result)
        report_written(out)
    if result.status in _EXIT_CODES:
        raise typer.Exit(_EXIT_CODES[result.status])
