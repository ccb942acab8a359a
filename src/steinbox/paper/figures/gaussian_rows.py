r"""Rows of Figure 1: how its settings are written, and how values are looked up."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.paper.figures.drawing import GF_SVGD, SVGD
from steinbox.paper.figures.settings import parse_options
from steinbox.paper.table import Row, Seeds, Table

HYBRID = "hybrid"
FARTHEST = 8.0  # the squared distance of panel (d)
FLAT = "ratio=inf"  # the flat surrogate has no center
STARTS = (0.5, 1.0, 2.0, 3.0)  # standard deviations, on which the paper is silent
DEFAULT_START = 3.0
BEST_RATIO = 0.5  # log10 of the ratio of variances that the paper finds best


def surrogate_setting(distance: float, ratio: float) -> str:
    """The setting of a surrogate at this squared distance, with this log10 of the variances' ratio."""
    return f"distance={distance:g} ratio={ratio:g}" if np.isfinite(ratio) else FLAT


def with_start(setting: str, std: float) -> str:
    """The setting with a start N(0, std² I); a standard deviation of 3 is not written."""
    return setting if std == DEFAULT_START else f"{setting} start={std:g}"


def final_values(table: Table, method: str, setting: str, metric: str) -> Seeds:
    """The metric at the end of the runs, by seed."""
    return table.where(method=method, setting=setting, metric=metric).last().by_seed()


def list_distances(table: Table) -> list[float]:
    """The squared distances of all surrogates."""
    return sorted({float(_option(row, "distance", "0")) for row in table.where(method=GF_SVGD)})


def list_ratios(table: Table) -> list[float]:
    """Log10 of the variances' ratios of all surrogates; infinity is the flat one."""
    return sorted({float(_option(row, "ratio", "inf")) for row in table.where(method=GF_SVGD)})


def list_starts(table: Table) -> list[float]:
    """The standard deviations of the starts of the flat surrogate."""
    return sorted({float(_option(row, "start", str(DEFAULT_START))) for row in table.where(method=GF_SVGD)})


def hybrid_ratios(table: Table) -> tuple[list[float], list[Array]]:
    """The shares, from plain SVGD to the flat surrogate alone, and the variance ratios of all seeds."""
    shares = sorted({float(_option(row, "share", "0")) for row in table.where(method=HYBRID)})
    runs = [(SVGD, "paper"), *[(HYBRID, f"paper share={share:g}") for share in shares]]
    runs.append((GF_SVGD, f"paper {FLAT}"))
    values = [final_values(table, method, setting, "variance_ratio") for method, setting in runs]
    return [0.0, *shares, 1.0], [np.array(list(value.values())) for value in values]


def _option(row: Row, name: str, default: str) -> str:
    return parse_options(row.setting).get(name, default)
