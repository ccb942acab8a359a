"""A result in the forms of other packages: a table of pandas, a tree of ArviZ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steinbox.run.result import Result

_MORE_COLUMNS = ("weight", "log_prob")


def to_dataframe(result: Result, *, pool: bool) -> Any:
    """The particles, or the weighted pool, as a ``pandas.DataFrame``."""
    try:
        from pandas import DataFrame
    except ImportError:
        raise ImportError('to_dataframe() needs pandas: pip install "steinbox[pandas]"') from None

    for taken in set(result.names) & set(_MORE_COLUMNS):
        raise ValueError(f"expected no parameter of the name {taken!r}, which is a column of the table; rename it")
    points = result.pool if pool else result.particles
    weight = result.pool_weights if pool else result.weights
    log_prob = result.pool_log_prob if pool else result.log_prob
    return DataFrame(points, columns=list(result.names)).assign(weight=weight, log_prob=log_prob)


def to_arviz(result: Result) -> Any:
    """The particles inside the support as an ArviZ ``DataTree``: one chain, one draw per particle."""
    try:
        from arviz_base import from_dict
    except ImportError:
        raise ImportError('to_arviz() needs ArviZ: pip install "steinbox[arviz]"') from None

    inside = result.weights > 0
    posterior = {name.replace("/", "_"): result.particles[None, inside, k] for k, name in enumerate(result.names)}
    return from_dict({"posterior": posterior, "sample_stats": {"lp": result.log_prob[None, inside]}})
