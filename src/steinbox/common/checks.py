"""Settings checked in words when they are made, not when they are first used."""

from __future__ import annotations

import numpy as np


def require_component(name: str, component: object, attribute: str, example: str) -> None:
    """Refuse a setting of the wrong kind: a class instead of an object, or an object without what is needed."""
    if isinstance(component, type):
        raise TypeError(
            f"expected {name} to be an object, got the class {component.__name__}; write {component.__name__}()"
        )
    if not hasattr(component, attribute):
        raise TypeError(f"expected {name} to be something like {example}, got {component!r}")


def require_count(name: str, value: object, smallest: int = 1) -> None:
    """Refuse what is not a whole number of at least ``smallest``."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < smallest:
        raise ValueError(f"expected {name} to be a whole number of at least {smallest}, got {value!r}")


def is_number(value: object) -> bool:
    """Whether the value is a real number; True and False are none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def require_number(name: str, value: object, smallest: float = 0.0) -> None:
    """Refuse what is not a finite number of at least ``smallest``."""
    if not (is_number(value) and smallest <= value < np.inf):  # type: ignore[operator]
        raise ValueError(f"expected {name} to be a finite number of at least {smallest:g}, got {value!r}")


def require_noise(value: object) -> None:
    """A standard deviation of log p, or whether there is one."""
    if not (isinstance(value, bool) or (is_number(value) and value > 0)):  # type: ignore[operator]
        raise ValueError(f"expected noise to be a positive standard deviation, True or False, got {value!r}")


def whole_number(name: str, value: object, smallest: int) -> int:
    """The value as an integer, or a ValueError in words; 2e4 is one, a common way to write a budget."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    require_count(name, value, smallest)
    return int(value)  # type: ignore[call-overload, no-any-return]
