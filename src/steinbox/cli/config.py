"""``--config run.toml``: the options of a run in a file, and what was given kept with its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from steinbox.cli.console import fail

SETTINGS = "settings"  # the table of the method's own


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make what the file says the defaults of the command: options of the command line win."""
    if path is None or context.resilient_parsing:
        return path
    content = _load(path)
    settings = content.pop(SETTINGS, {})
    if not isinstance(settings, Mapping):
        fail(f"{path}: expected [{SETTINGS}] to be a table, got {settings!r}")
    known, of_any_run = (_names(command) for command in (context.command, _sample_command(context)))
    defaults = {}
    for key, value in content.items():
        short = key.replace("_", "-")
        if short not in known | of_any_run:
            fail(f"{path} has {key!r}, which is not an option of `{context.info_name}`{nearest(short, known)}")
        if not isinstance(value, (bool, int, float, str)):
            fail(f"{path}: expected {key!r} to be a number, text, true or false, got {value!r}")
        if short in known:  # else it is known from the checkpoint
            defaults[known[short]] = _as_typed(value)
    context.default_map = {**(context.default_map or {}), **defaults}
    context.meta[SETTINGS] = dict(settings)
    return path


def given_options(context: typer.Context) -> dict[str, Any]:
    """What was given on the command line and in the file, to be kept with the result."""
    keys = {parameter.name: _key(parameter) for parameter in context.command.params}
    given = {keys[name]: value for name, value in context.params.items() if not _is_default(context, name)}
    options = {key: value if isinstance(value, (bool, int, float)) else str(value) for key, value in given.items()}
    return options | ({SETTINGS: method_settings(context)} if method_settings(context) else {})


def method_settings(context: typer.Context) -> dict[str, Any]:
    """The method's own settings in the file."""
    return dict(context.meta.get(SETTINGS, {}))


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a name that is not known.

    Examples
    --------
    >>> nearest("max-eval", ["max-evals", "seed"])
    '; did you mean max-evals?'
    >>> nearest("zzz", ["max-evals", "seed"])
    '; the known names are max-evals, seed'
    """
    import difflib

    known = sorted(known)
    found = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {found[0]}?" if found else f"; the known names are {', '.join(known)}"


def _load(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        fail(f"there is no file {path}")
    except (OSError, ValueError) as error:
        fail(f"{path} is not a TOML file: {error}")


def _sample_command(context: typer.Context) -> Any:
    """The command that begins a run: a file for it is one for going on with the run too."""
    root: Any = context.find_root().command
    return root.commands["sample"]


def _names(command: Any) -> dict[str, str]:
    """The parameters of a command by their names in a file."""
    names = {_key(parameter): str(parameter.name) for parameter in command.params}
    return {key: name for key, name in names.items() if key not in ("config", "help")}


def _key(parameter: Any) -> str:
    """The name of an option without its dashes, or of an argument."""
    longest = max((option for option in parameter.opts), key=len)
    return str(longest).lstrip("-").replace("_", "-").lower()


def _as_typed(value: bool | float | str) -> bool | str:
    """As it would be typed, so that it is checked in the same way: 1.5 is no whole number."""
    return value if isinstance(value, bool) else str(value)


def _is_default(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is None or source.name == "DEFAULT"
