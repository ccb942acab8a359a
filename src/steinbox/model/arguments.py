"""What the user's function is called with: an array or a dictionary, with parameters that are held put in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinbox.common.arrays import Array


@dataclass(frozen=True)
class Arguments:
    """From free parameters, (d,) or rows of them, (n, d), to what the function expects.

    Parameters
    ----------
    names : tuple of str
        All parameters in the order of the function's array; the free ones among them in the order of the points.
    fixed : mapping of str to value
        The others. A function that takes a dictionary may be given any objects.
    by_name : bool
        Whether the function takes a dictionary.

    Examples
    --------
    >>> Arguments(("a", "n", "b"), {"n": 3}, by_name=False)(np.array([[1.0, 2.0], [5.0, 6.0]]))
    array([[1., 3., 2.],
           [5., 3., 6.]])
    >>> Arguments(("a", "b"), {"n": 3}, by_name=True)(np.array([[1.0, 2.0], [5.0, 6.0]]))
    {'a': array([1., 5.]), 'b': array([2., 6.]), 'n': 3}
    """

    names: tuple[str, ...]
    fixed: Mapping[str, Any]
    by_name: bool

    @property
    def free(self) -> tuple[str, ...]:
        """The names of the free parameters."""
        return tuple(name for name in self.names if name not in self.fixed)

    @property
    def is_plain(self) -> bool:
        """Whether the function takes the points as they are."""
        return not (self.by_name or self.fixed)

    def __call__(self, points: Array) -> Any:
        """The function's argument."""
        columns = {name: points[..., k] for k, name in enumerate(self.free)}
        if self.by_name:
            return columns | dict(self.fixed)
        values = columns | {name: np.full(points.shape[:-1], value) for name, value in self.fixed.items()}
        return np.stack([values[name] for name in self.names], axis=-1)

    def free_score(self, score: Any) -> Any:
        """The free entries of a gradient: of a dictionary by name, or of an array in the order of ``names``."""
        if isinstance(score, Mapping):
            return np.stack([np.asarray(score[name], dtype=np.float64) for name in self.free], axis=-1)
        array = np.asarray(score)
        return array[..., [name not in self.fixed for name in self.names]] if not self.by_name else array


@dataclass(frozen=True)
class WithArguments:
    """The user's log-density as a function of the free parameters."""

    function: Callable[..., Any]
    arguments: Arguments

    def __call__(self, points: Array, **random: Any) -> Any:
        return self.function(self.arguments(points), **random)


@dataclass(frozen=True)
class ScoreWithArguments:
    """The user's score as a function of the free parameters."""

    function: Callable[..., Any]
    arguments: Arguments

    def __call__(self, points: Array) -> Any:
        return self.arguments.free_score(self.function(self.arguments(points)))
