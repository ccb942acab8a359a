r"""A prior: independent factors, each a distribution of one parameter or of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steinbox.common.arrays import Array, RNGLike
from steinbox.densities.initial import Initial
from steinbox.model.distributions import Factor, as_factor


@dataclass(frozen=True)
class Prior:
    r"""The density of all parameters, :math:`\log \pi(x) = \sum_k \log \pi_k(x_k)`.

    It is an initial distribution too: what can be drawn from, and has a normalized density.

    Examples
    --------
    >>> from scipy import stats
    >>> prior = as_prior({"rate": stats.expon(), "slope": stats.norm(0, 2)})
    >>> prior.names, prior.bounds
    (('rate', 'slope'), ((0.0, inf), (-inf, inf)))
    >>> prior.log_prob(np.array([[1.0, 0.0], [-1.0, 0.0]])).round(3)
    array([-2.612,   -inf])
    """

    factors: tuple[Factor, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(name for factor in self.factors for name in factor.names)

    @property
    def dimension(self) -> int:
        """The number of parameters d."""
        return len(self.names)

    @property
    def bounds(self) -> tuple[object, ...]:
        """The support, an entry of ``bounds=`` for each parameter."""
        return tuple(entry for factor in self.factors for entry in factor.bounds)

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, d)."""
        rng = np.random.default_rng(rng)
        return np.column_stack([factor.density.sample(num_points, rng) for factor in self.factors])

    def log_prob(self, points: Array) -> Array:
        """Log-density at the rows of ``points``; −inf outside the support."""
        terms = [density.log_prob(points[:, columns]) for density, columns in self._parts]
        return np.asarray(np.sum(terms, axis=0))

    def score(self, points: Array) -> Array:
        """Gradient of the log-density; zero where a difference would reach beyond the support."""
        score = np.empty_like(points)
        with np.errstate(invalid="ignore"):
            for density, columns in self._parts:
                score[:, columns] = density.score(points[:, columns])
        return np.where(np.isfinite(score), score, 0.0)

    def without(self, names: Iterable[str]) -> Prior:
        """The prior of the other parameters, if these are independent of them."""
        held = set(names)
        for factor in self.factors:
            if held & set(factor.names) and not held >= set(factor.names):
                raise ValueError(
                    f"fixed= holds {sorted(held & set(factor.names))}, which have a joint prior with others, "
                    f"{factor.names}: give those a prior of their own"
                )
        rest = tuple(factor for factor in self.factors if not held >= set(factor.names))
        if not rest:
            raise ValueError("fixed= holds all parameters: there is nothing to sample")
        return Prior(rest)

    def in_order(self, names: Sequence[str]) -> Prior:
        """The same prior with its parameters in this order."""
        if set(names) != set(self.names):
            raise ValueError(f"expected distributions for {list(names)}, got {list(self.names)}")
        ordered = Prior(tuple(sorted(self.factors, key=lambda factor: list(names).index(factor.names[0]))))
        if ordered.names != tuple(names):
            raise ValueError(
                f"expected the parameters in the order {list(names)}, those of a joint one side by side, got "
                f"{list(self.names)}"
            )
        return ordered

    @cached_property
    def _parts(self) -> list[tuple[Initial, slice]]:
        ends = np.cumsum([len(factor.names) for factor in self.factors]).tolist()
        return [
            (factor.density, slice(end - len(factor.names), end))
            for factor, end in zip(self.factors, ends, strict=True)
        ]


def as_prior(given: Any, names: Sequence[str] | None = None, periodic: Sequence[str] = ()) -> Prior:
    """Understand ``prior=``: distributions by names (a tuple of names for a joint one), a list, or one joint one."""
    entries = _entries(given, names)
    all_names = [name for key in entries for name in key]
    if len(set(all_names)) < len(all_names) or not all(isinstance(name, str) for name in all_names):
        raise ValueError(f"expected a different name, a text, for each parameter, got {all_names}")
    unknown = set(periodic) - set(all_names)
    if unknown or isinstance(periodic, str):
        raise ValueError(f"expected periodic to name parameters of the prior, {all_names}, got {periodic!r}")
    return Prior(
        tuple(as_factor(key, entry, is_periodic=bool(set(key) & set(periodic))) for key, entry in entries.items())
    )


def _entries(given: Any, names: Sequence[str] | None) -> dict[tuple[str, ...], Any]:
    """The factors as they were given, by the names of their parameters."""
    if isinstance(given, Mapping):
        if names is not None:
            raise ValueError("the names are those of the prior: leave names= out")
        entries = {key if isinstance(key, tuple) else (key,): value for key, value in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, str):
        entries = {(name,): value for name, value in zip(_names(names, len(given)), given, strict=True)}
    else:
        entries = {_names(names, _dimension(given)): given}
    if not entries:
        raise ValueError("expected a prior of at least one parameter, got an empty one")
    return entries


def _names(names: Sequence[str] | None, number: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{k}" for k in range(number))
    if isinstance(names, str) or len(names) != number:
        raise ValueError(f"expected {number} names, one per parameter of the prior, got {names!r}")
    return tuple(names)


def _dimension(given: Any) -> int:
    """The number of parameters of one distribution."""
    if isinstance(given, Initial):
        return given.dimension
    if not hasattr(given, "rvs"):
        return 1
    return int(np.size(given.rvs(random_state=np.random.default_rng(0))))
