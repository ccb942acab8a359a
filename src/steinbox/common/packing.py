"""States as arrays and text: what a checkpoint holds, without pickle.

A state is a dataclass of arrays, numbers, text, tuples, dictionaries by text and other dataclasses. :func:`pack` takes
it apart into a tree that JSON can hold and a dictionary of arrays; :func:`unpack` puts it together again, bit for bit.
Only dataclasses of modules that were named are ever made, and none of their code is run.
"""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from steinbox.common.arrays import Array


def pack(value: object, arrays: dict[str, Array]) -> Any:
    """The value as a tree for JSON; its arrays are added to ``arrays``.

    Examples
    --------
    >>> arrays = {}
    >>> tree = pack((1, np.zeros(2)), arrays)
    >>> tree, list(arrays)
    ({'tuple': [1, {'array': 'a0'}]}, ['a0'])
    >>> unpack(tree, arrays, allowed=())
    (1, array([0., 0.]))
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        name = f"a{len(arrays)}"
        arrays[name] = np.asarray(value)
        return {"array" if isinstance(value, np.ndarray) else "scalar": name}
    if isinstance(value, tuple):
        return {"tuple": [pack(item, arrays) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: pack(item, arrays) for key, item in value.items()}}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: pack(getattr(value, field.name), arrays) for field in fields(value)}
        return {"class": f"{type(value).__module__}:{type(value).__qualname__}", "fields": parts}
    raise TypeError(
        f"a state cannot hold {type(value).__name__}: only arrays, numbers, text, tuples, dictionaries by text and "
        "dataclasses"
    )


def unpack(tree: Any, arrays: dict[str, Array], allowed: tuple[str, ...]) -> Any:
    """What :func:`pack` took apart; dataclasses only of modules that are, or lie in, one of ``allowed``."""
    if not isinstance(tree, dict):
        return tree
    kind, content = next(iter(tree.items()))
    if kind == "array":
        return arrays[content]
    if kind == "scalar":
        return arrays[content][()]
    if kind == "tuple":
        return tuple(unpack(item, arrays, allowed) for item in content)
    if kind == "dict":
        return {key: unpack(item, arrays, allowed) for key, item in content.items()}
    if kind == "class":
        parts = {name: unpack(item, arrays, allowed) for name, item in tree["fields"].items()}
        return _assembled(_find(content, allowed), parts)
    raise ValueError(f"an unknown part {kind!r}")


def _find(name: str, allowed: tuple[str, ...]) -> type[Any]:
    module, _, path = name.partition(":")
    if not any(module == root or module.startswith(f"{root}.") for root in allowed):
        raise ValueError(f"a state of {module} is not one of {', '.join(allowed)}")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and is_dataclass(found)):
        raise ValueError(f"there is no dataclass {name}")
    return found


def _assembled(cls: type[Any], parts: dict[str, Any]) -> Any:
    if set(parts) != {field.name for field in fields(cls)}:
        raise ValueError(f"{cls.__name__} has other fields than {', '.join(parts)}")
    value = object.__new__(cls)
    for name, part in parts.items():
        object.__setattr__(value, name, part)
    return value
