"""The user's model file: a Python file with a log-density."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from steinbox.cli.console import fail, show_user_traceback


def load_model(model: str) -> tuple[ModuleType, Any]:
    """The user's file as a module, and the function in it."""
    path_text, _, name = model.rpartition(":")
    path = Path(path_text)
    if not path_text or not name:
        fail(f"expected path/to/model.py:function, got {model!r}")
    if not path.is_file():
        fail(f"there is no file {path}")
    module = _execute(path)
    if not callable(getattr(module, name, None)):
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        fail(f"{path} defines no function {name!r}; it has {', '.join(functions) or 'none'}")
    return module, getattr(module, name)


def _execute(path: Path) -> ModuleType:
    """Import the file under a name of its own; it may import from its folder, and workers are sent its content."""
    name = f"steinbox_model_{path.stem.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        fail(f"expected a Python file, got {path}")
    sys.path.insert(0, str(path.parent.resolve()))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        show_user_traceback(error)
        fail(f"{path} could not be loaded")
    if importlib.util.find_spec("cloudpickle"):
        import cloudpickle

        cloudpickle.register_pickle_by_value(module)
    return module
