"""A result in the forms of other packages: a table of pandas, what ArviZ reads, netCDF."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.checks import require_count
from steinbox.common.files import replace_file
from steinbox.numerics.weights import systematic_resample

if TYPE_CHECKING:
    from steinbox.run.result import Result

_MORE_COLUMNS = ("weight", "log_prob")
_LOG_LIKELIHOOD = "log_likelihood"  # a derived quantity that is a group of its own, from which ArviZ computes LOO
_MIN_DRAWS = 4  # fewer make no summary of ArviZ


def to_dataframe(result: Result, *, pool: bool) -> Any:
    """The particles, or the weighted pool, as a ``pandas.DataFrame``."""
    try:
        from pandas import DataFrame
    except ImportError:
        raise ImportError('to_dataframe() needs pandas: pip install "steinbox[pandas]"') from None

    _require_no_column(result.names)
    points = result.pool if pool else result.particles
    derived = result.pool_derived if pool else result.derived
    columns = dict(zip(result.names, points.T, strict=True))
    columns |= {name: values for name, values in derived.items() if values.ndim == 1 and name not in columns}
    columns["weight"] = result.pool_weights if pool else result.weights
    columns["log_prob"] = result.pool_log_prob if pool else result.log_prob
    table = DataFrame(columns)
    table.attrs.update(units=dict(result.units), descriptions=dict(result.descriptions))
    return table


def _require_no_column(names: tuple[str, ...]) -> None:
    for taken in set(names) & set(_MORE_COLUMNS):
        raise ValueError(f"expected no parameter of the name {taken!r}, which is a column of the table; rename it")


def to_arviz(result: Result, num_draws: int | None) -> Any:
    """Draws and pool as the installed ArviZ reads them: a ``DataTree`` since version 1, before an ``InferenceData``."""
    try:
        arviz, groups = _import_arviz(), _groups(result, num_draws)
    except ImportError:
        raise ImportError('to_arviz() needs ArviZ: pip install "steinbox[arviz]"') from None
    if arviz.__name__ == "arviz" and arviz.__version__.startswith("0."):
        return arviz.InferenceData(attrs=_attributes(result), warn_on_custom_groups=False, **groups)
    return _tree(result, groups)


def _import_arviz() -> Any:
    """ArviZ, or the part of it that is enough since version 1."""
    try:
        return import_module("arviz")
    except ImportError:
        return import_module("arviz_base")


def write_netcdf(result: Result, path: Path) -> None:
    """Write what :func:`to_arviz` returns to a netCDF file, for any program that reads these."""
    try:
        import h5netcdf  # noqa: F401
        import h5py  # noqa: F401  # which h5netcdf leaves to the user

        tree = _tree(result, _groups(result, None))
    except ImportError:
        raise ImportError('a .nc file needs xarray, h5netcdf and h5py: pip install "steinbox[netcdf]"') from None
    replace_file(path, lambda partial: tree.to_netcdf(partial, engine="h5netcdf"))


def _tree(result: Result, groups: dict[str, Any]) -> Any:
    from xarray import DataTree

    tree = DataTree.from_dict(groups)
    tree.attrs = _attributes(result)
    return tree


def _groups(result: Result, num_draws: int | None) -> dict[str, Any]:
    """Datasets: the draws as one chain, and the whole pool with its weights."""
    from xarray import Dataset

    _require_no_column(result.names)
    names = _variable_names(result.names)
    rows = _resample(result, num_draws)
    about_each = [_variable_attributes(result, name) for name in result.names]
    columns = {name: (("chain", "draw"), result.pool[None, rows, k], about_each[k]) for k, name in enumerate(names)}
    pool: dict[str, Any] = {name: (("point",), result.pool[:, k], about_each[k]) for k, name in enumerate(names)}
    coordinates = {"chain": [0], "draw": np.arange(len(rows))}
    stats = {"lp": (("chain", "draw"), result.pool_log_prob[None, rows])}
    pool |= {"weight": (("point",), result.pool_weights), "log_prob": (("point",), result.pool_log_prob)}
    derived, likelihood = _derived(result, rows)
    about = _attributes(result)
    groups = {
        "posterior": Dataset(derived | columns, coordinates, about),
        "sample_stats": Dataset(stats, coordinates, about),
        "pool": Dataset(pool),
    }
    if likelihood:
        groups["log_likelihood"] = Dataset(likelihood, coordinates, about)
    if result.prior_draws is not None:
        draws = result.prior_draws[None]
        columns = {name: (("chain", "draw"), draws[..., k], about_each[k]) for k, name in enumerate(names)}
        groups["prior"] = Dataset(columns, {"chain": [0], "draw": np.arange(draws.shape[1])}, about)
    return groups


def _derived(result: Result, rows: IntegerArray) -> tuple[dict[str, Any], dict[str, Any]]:
    """Variables of the derived quantities at these rows of the pool, and apart the likelihood of every observation.

    A log-likelihood that is one number stays with the others: ArviZ would take it for that of a single observation.
    """
    variables: dict[str, Any] = {}
    for name, values in result.pool_derived.items():
        safe = name.replace("/", "_")
        axes = tuple(f"{safe}_dim_{k}" for k in range(values.ndim - 1))
        variables[safe] = (("chain", "draw", *axes), values[None, rows], _variable_attributes(result, name))
    total = variables.get(_LOG_LIKELIHOOD)
    has_observations = total is not None and len(total[0]) > len(("chain", "draw"))
    return variables, {_LOG_LIKELIHOOD: variables.pop(_LOG_LIKELIHOOD)} if has_observations else {}


def _variable_attributes(result: Result, name: str) -> dict[str, str]:
    """Unit and description under the names that the CF conventions give them."""
    texts = {"units": result.units.get(name), "long_name": result.descriptions.get(name)}
    return {key: text for key, text in texts.items() if text}


def _resample(result: Result, num_draws: int | None) -> IntegerArray:
    """Rows of the pool by their weights, in random order; as many as it is worth, if no number is given."""
    if num_draws is None:
        num_draws = max(_MIN_DRAWS, int(result.effective_sample_size))
    require_count("num_draws", num_draws, _MIN_DRAWS)
    rng = np.random.default_rng(result.seed)
    return np.asarray(rng.permutation(systematic_resample(_positive(result.pool_weights), num_draws, rng)))


def _positive(weights: Array) -> Array:
    if not weights.any():
        raise ValueError("expected a result with points inside the support, got one in which none has weight")
    return np.asarray(weights / weights.sum())


def _variable_names(names: tuple[str, ...]) -> list[str]:
    """Names that a tree, whose names are paths, and netCDF can hold."""
    safe = [name.replace("/", "_") for name in names]
    if len(set(safe)) < len(safe):
        raise ValueError(f"expected names that differ when a slash is an underscore, got {', '.join(names)}")
    return safe


def _attributes(result: Result) -> dict[str, str | float | int]:
    """What is known of the run, in text and numbers."""
    return {
        "inference_library": "steinbox",
        "inference_library_version": result.version,
        "method": str(result.config.get("method", "?")),
        "settings": json.dumps(result.config, default=str),
        "status": str(result.status),
        "warnings": "\n".join(result.warnings),
        "effective_sample_size": result.effective_sample_size,
        "pareto_shape": result.pareto_shape,
        "log_evidence": result.log_evidence,
        "log_evidence_error": result.log_evidence_error,
        "num_evals": result.num_evals,
        "num_failures": result.num_failures,
        "seed": str(result.seed),  # may be larger than netCDF's integers
    }
