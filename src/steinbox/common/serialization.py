"""States as arrays and text: what a checkpoint or a saved result holds, without pickle.

A state is a dataclass of arrays, numbers, text, tuples, dictionaries with text keys and other dataclasses. :func:`pack`
takes it apart into a tree that JSON can hold and a dictionary of arrays; :func:`unpack` puts it together again, bit for
bit.

A file names a dataclass by the name it was registered under with :func:`serializable`, never by module and class, so
that renaming or moving a class leaves files readable. Fields go by their own names: a field that is added later needs a
default to read older files, one that is renamed or removed makes them unreadable.

Loading runs no code from the file. Its names are looked up in the table of classes that the program has registered by
itself: nothing is imported, no constructor is called, and what is made is an object whose fields are set.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from steinbox.common.arrays import Array

T = TypeVar("T")

CLASSES: dict[str, type[Any]] = {}
"""The dataclasses that files may hold, by registered name; those of steinbox itself have names without a slash."""

_NAMES: dict[type[Any], str] = {}
_VALID_NAME = re.compile(r"([a-z0-9-]+/)?[a-z0-9]+(-[a-z0-9]+)*")


class SerializationError(ValueError):
    """What a file holds does not fit the classes of this program."""


def serializable(name: str) -> Callable[[type[T]], type[T]]:
    """Register a dataclass under a stable name, so that checkpoints and saved results can hold it.

    The state of a custom sampler, and every dataclass inside it, needs this one line to be checkpointed. The name is
    written to users' files: keep it when the class is renamed or moved. Defining the same class again, as when a
    notebook cell is run twice, replaces it.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens. Put the name of your package and a slash before it: names without a slash
        are those of steinbox.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @serializable("my-package/walk-state")
    ... @dataclass(frozen=True)
    ... class WalkState:
    ...     num_steps: int = 0
    >>> tree = pack(WalkState(3), {})
    >>> tree
    {'class': 'my-package/walk-state', 'fields': {'num_steps': 3}}
    >>> unpack(tree, {})
    WalkState(num_steps=3)
    """
    if not (isinstance(name, str) and _VALID_NAME.fullmatch(name)):
        raise ValueError(f"expected a name like 'my-package/walk-state', lower case with hyphens, got {name!r}")

    def register(cls: type[T]) -> type[T]:
        if not (isinstance(cls, type) and "__dataclass_fields__" in vars(cls)):
            described = getattr(cls, "__qualname__", repr(cls))
            raise TypeError(f'{described} is not a dataclass; write @serializable("{name}") above @dataclass')
        known = CLASSES.get(name)
        if known is not None and _location(known) != _location(cls):
            raise ValueError(f"{name!r} is already the name of {_location(known)}; {_location(cls)} needs another one")
        if cls in _NAMES:
            raise ValueError(f"{_location(cls)} is already registered as {_NAMES[cls]!r}")
        if known is not None:
            del _NAMES[known]
        CLASSES[name], _NAMES[cls] = cls, name
        return cls

    return register


def pack(value: object, arrays: dict[str, Array]) -> Any:
    """The value as a tree for JSON; its arrays are added to ``arrays``.

    Examples
    --------
    >>> arrays = {}
    >>> tree = pack((1, np.zeros(2)), arrays)
    >>> tree, list(arrays)
    ({'tuple': [1, {'array': 'a0'}]}, ['a0'])
    >>> unpack(tree, arrays)
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
        return {"class": _registered_name(type(value)), "fields": parts}
    raise TypeError(
        f"a state cannot hold {type(value).__name__}: only arrays, numbers, text, tuples, dictionaries with text keys "
        "and dataclasses"
    )


def unpack(tree: Any, arrays: dict[str, Array]) -> Any:
    """What :func:`pack` took apart.

    A field that the tree does not have gets its default; one that the class does not have is refused, since dropping it
    could change what the state means.
    """
    if not isinstance(tree, dict):
        return tree
    kind, content = next(iter(tree.items()))
    if kind == "array":
        return arrays[content]
    if kind == "scalar":
        return arrays[content][()]
    if kind == "tuple":
        return tuple(unpack(item, arrays) for item in content)
    if kind == "dict":
        return {key: unpack(item, arrays) for key, item in content.items()}
    if kind == "class":
        parts = {name: unpack(item, arrays) for name, item in tree["fields"].items()}
        return _assemble(content, parts)
    raise SerializationError(f"the file holds an unknown kind of part, {kind!r}")


def describe_format(found: int, current: int) -> str:
    """Who wrote a file of another format than this version's, said after the file's name."""
    if found > current:
        who, remedy = "a newer version of steinbox", "upgrade steinbox to read it"
    else:
        who, remedy = "an earlier, unreleased version of steinbox", "read it with the version that wrote it"
    return f"was written by {who} (format {found}); this version reads format {current}: {remedy}"


def _registered_name(cls: type[Any]) -> str:
    if cls not in _NAMES:
        raise TypeError(
            f"a file can hold a {cls.__name__} only under a registered name: write "
            f'@steinbox.serializable("my-package/{_hyphenate(cls.__name__)}") above the @dataclass of {_location(cls)}'
        )
    return _NAMES[cls]


def _assemble(name: str, parts: dict[str, Any]) -> Any:
    """An object of the registered class with these fields; its constructor is not called."""
    cls = CLASSES.get(name)
    if cls is None:
        raise SerializationError(
            f"the file holds a {name!r}; register it (import the module that defines it) before loading"
        )
    known = {field.name: field for field in fields(cls)}
    unknown = [each for each in parts if each not in known]
    missing = [each for each, field in known.items() if each not in parts and not _has_default(field)]
    if unknown or missing:
        sides = (("the file", missing), ("the class", unknown))
        lacking = "; ".join(f"{side} has no {', '.join(map(repr, names))}" for side, names in sides if names)
        raise SerializationError(f"the fields of {name!r} in the file are not those of {cls.__name__}: {lacking}")
    value = object.__new__(cls)
    for each, field in known.items():
        object.__setattr__(value, each, parts[each] if each in parts else _default(field))
    return value


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _location(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _hyphenate(class_name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", class_name.strip("_")).lower()
