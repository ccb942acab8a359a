"""What was asked to be sampled, understood: a function of the free parameters, and all that its model says of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steinbox.common.checks import is_number
from steinbox.densities.gaussian import Gaussian
from steinbox.model.arguments import Arguments, ScoreWithArguments, WithArguments
from steinbox.model.distributions import NewInterface
from steinbox.model.model import Model
from steinbox.model.prior import Prior, as_prior


@dataclass(frozen=True, eq=False)
class Target:
    """A function of the free parameters with its prior, if that is apart, start, names, bounds and constants."""

    log_prob: Callable[..., Any]
    score: Callable[..., Any] | None
    prior: Prior | None
    initial: object
    names: tuple[str, ...] | None
    bounds: Sequence[object] | None
    constants: Mapping[str, Any]
    takes_rng: bool


def as_target(
    log_prob: Callable[..., Any],
    initial: object,
    *,
    score: Callable[..., Any] | None = None,
    names: Sequence[str] | None = None,
    bounds: object = None,
    fixed: Mapping[str, Any] | None = None,
    by_name: bool = False,
) -> Target:
    """Understand a log-density or a :class:`Model`, and the parameters that are held."""
    constants = _check_fixed(fixed)
    if isinstance(log_prob, Model):
        return _from_model(log_prob, initial, score, names, bounds, constants)
    start = _as_start(initial)
    all_names = start.names if names is None and isinstance(initial, Mapping) else _as_names(names)
    if all_names is None:
        if constants or by_name or isinstance(bounds, Mapping):
            raise ValueError("fixed=, by_name=True and bounds by name need names=, one for each parameter")
        return Target(log_prob, score, None, start, None, bounds, {}, _takes_rng(log_prob))  # type: ignore[arg-type]
    arguments = _arguments(all_names, constants, by_name)
    return _with_arguments(
        Target(
            log_prob,
            score,
            None,
            _free_initial(start, arguments),
            arguments.free,
            _free_bounds(bounds, arguments),
            constants,
            _takes_rng(log_prob),
        ),
        arguments,
    )


def _from_model(
    model: Model,
    initial: object,
    score: Callable[..., Any] | None,
    names: Sequence[str] | None,
    bounds: object,
    constants: dict[str, Any],
) -> Target:
    if names is not None or bounds is not None:
        raise ValueError(
            "names and bounds of a Model are those of its prior and its support: leave names= and bounds= out"
        )
    prior: Prior = model.prior.without(constants)
    arguments = _arguments(model.prior.names, constants, model.by_name)
    start = prior if initial is None else _free_initial(_as_start(initial), arguments)
    takes_rng = _takes_rng(model.log_likelihood)
    target = Target(model.log_likelihood, score, prior, start, prior.names, prior.bounds, constants, takes_rng)
    return _with_arguments(target, arguments)


def _with_arguments(target: Target, arguments: Arguments) -> Target:
    """The same with functions of the free parameters."""
    if arguments.is_plain:
        return target
    score = None if target.score is None else ScoreWithArguments(target.score, arguments)
    return replace(target, log_prob=WithArguments(target.log_prob, arguments), score=score)


def _arguments(names: tuple[str, ...], constants: dict[str, Any], by_name: bool) -> Arguments:
    """Refuse constants that an array cannot hold, or has no place for."""
    arguments = Arguments(names, constants, by_name)
    if not by_name:
        unknown = [name for name in constants if name not in names]
        if unknown:
            raise ValueError(f"fixed= names {unknown}, which are not among the parameters {list(names)}")
        strange = {name: value for name, value in constants.items() if not is_number(value)}
        if strange:
            raise ValueError(f"expected fixed= to hold numbers for a function of an array, got {strange}")
    if not arguments.free:
        raise ValueError("fixed= holds all parameters: there is nothing to sample")
    return arguments


def _check_fixed(fixed: object) -> dict[str, Any]:
    if fixed is None:
        return {}
    if not isinstance(fixed, Mapping) or not all(isinstance(name, str) for name in fixed):
        raise TypeError(f'expected fixed to be a dictionary such as {{"n": 3}}, got {fixed!r}')
    return dict(fixed)


def _as_names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(set(names)) < len(names):
        raise ValueError(f"expected different names, one per parameter, got {names!r}")
    return tuple(map(str, names))


def _as_start(initial: Any) -> Any:
    """Distributions by name, and of SciPy's new interface, as those that are known; the rest as it is."""
    if isinstance(initial, Mapping):
        return as_prior(initial)
    if isinstance(initial, Sequence) and any(_is_new(item) for item in initial):
        return [NewInterface(item) if _is_new(item) else item for item in initial]
    return [NewInterface(initial)] if _is_new(initial) else initial


def _is_new(item: object) -> bool:
    return hasattr(item, "sample") and hasattr(item, "logpdf") and hasattr(item, "support")


def _free_initial(initial: Any, arguments: Arguments) -> Any:
    """The start of the free parameters; one of all parameters loses those that are held."""
    is_free = [name not in arguments.fixed for name in arguments.names]
    num_all, num_free = len(is_free), sum(is_free)
    if isinstance(initial, Prior):
        return initial.without(arguments.fixed).in_order(arguments.free)
    if initial is None or num_all == num_free:
        return initial
    dimension = getattr(initial, "dimension", None)
    if isinstance(initial, Gaussian) and dimension == num_all:
        return Gaussian(initial.mean[is_free], cov=initial.cov[np.ix_(is_free, is_free)])
    if dimension not in (None, num_free):
        raise ValueError(f"expected `initial` in the {num_free} dimensions that fixed= leaves free, got {dimension}")
    if isinstance(initial, Sequence) and len(initial) == num_all and all(hasattr(item, "rvs") for item in initial):
        return [item for item, free in zip(initial, is_free, strict=True) if free]
    if np.ndim(initial) == 2 and np.shape(initial)[1] == num_all:
        return np.asarray(initial)[:, is_free]
    return initial


def _free_bounds(bounds: Any, arguments: Arguments) -> Any:
    """The bounds of the free parameters, from those of all, of the free ones, or by name."""
    if isinstance(bounds, Mapping):
        unknown = [name for name in bounds if name not in arguments.names]
        if unknown:
            raise ValueError(f"bounds= names {unknown}, which are not among the parameters {list(arguments.names)}")
        return [bounds.get(name) for name in arguments.free]
    if bounds is not None and arguments.fixed and len(bounds) == len(arguments.names):
        pairs = zip(arguments.names, bounds, strict=True)
        return [entry for name, entry in pairs if name not in arguments.fixed]
    return bounds


def _takes_rng(function: Callable[..., Any]) -> bool:
    """Whether there is a parameter ``rng`` that nobody has given a value yet."""
    try:
        rng = inspect.signature(function).parameters.get("rng")
    except (TypeError, ValueError):  # some compiled functions have no signature
        return False
    by_name = rng is not None and rng.kind in (rng.KEYWORD_ONLY, rng.POSITIONAL_OR_KEYWORD)
    return rng is not None and by_name and rng.default in (None, rng.empty)
