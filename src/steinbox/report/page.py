"""The page: a template filled with text, and a script that draws numbers. It loads nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import fields, is_dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from steinbox.common.text import plain
from steinbox.report.content import Cloud, Content, Curve, Level, Way
from steinbox.report.numbers import to_json

_SCRIPTS = ("plot.js", "corner.js", "way.js", "curves.js", "main.js")
_LIVE_SCRIPT = "live.js"  # only of a page that is served


def render(content: Content) -> str:
    """The page as text.

    Whatever names and messages hold is shown and not interpreted: the template escapes it, and the policy of the page
    allows its own script and style, by their hashes, and no other, and no connection but that of a live page to where
    it came from.
    """
    template = _template("report.html")
    scripts = (*_SCRIPTS, _LIVE_SCRIPT) if content.is_running else _SCRIPTS
    style, script = _read("report.css"), "".join(map(_read, scripts))
    page: str = template.render(
        content=content,
        Level=Level,
        style=style,
        script=script,
        policy=_policy(style, script, may_connect=content.is_running),
        data=_data(content),
    )
    return page


def render_waiting(num_evals: int) -> str:
    """The page of a run before its first iteration is complete, which asks for itself again and again."""
    style = _read("report.css")
    page: str = _template("waiting.html").render(num_evals=num_evals, style=style, policy=_policy(style, ""))
    return page


def _template(name: str) -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise ImportError('a report needs Jinja2: pip install "steinbox[report]"') from None

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_plain_if_text, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":"), "ensure_ascii": False}
    return environment.from_string(_read(name))


def _read(name: str) -> str:
    return (files("steinbox.report") / "assets" / name).read_text(encoding="utf-8")


def _plain_if_text(value: object) -> object:
    """What the template shows; text that it has marked as safe is its own."""
    return plain(value) if type(value) is str else value


def _policy(style: str, script: str, *, may_connect: bool = False) -> str:
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    style_hash, script_hash = hashes
    connections = "; connect-src 'self'" if may_connect else ""
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; "
        f"base-uri 'none'; form-action 'none'{connections}"
    )


def _data(content: Content) -> dict[str, Any]:
    """What the script draws: points by columns, so that a plot takes two of them."""
    return {
        "cloud": _columns(content.cloud, "draws", "particles"),
        "way": _columns(content.way, "points"),
        "curves": [_columns(curve) for curve in content.curves],
    }


def _columns(part: Cloud | Way | Curve, *transposed: str) -> dict[str, Any]:
    assert is_dataclass(part)
    values = {each.name: getattr(part, each.name) for each in fields(part)}
    return {name: _jsonable(value.T if name in transposed else value) for name, value in values.items()}


def _jsonable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind == "i" else to_json(value)
    if isinstance(value, (bool, int)):
        return value
    return plain(value) if isinstance(value, str) else [plain(item) for item in value]
