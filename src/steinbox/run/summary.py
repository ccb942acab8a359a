"""The table of a result: a row of numbers for every quantity, and what there is to say about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.labels import label
from steinbox.common.tables import html_paragraphs, html_table, text_table
from steinbox.run.expectations import WeightedPoints
from steinbox.run.status import Status

QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """Numbers for every parameter, and every derived quantity that is a number.

    ``str()`` gives a table; in a notebook it is shown as one.

    Attributes
    ----------
    names : tuple of k str
        First the parameters', then those of derived quantities.
    mean, sd : (k,) arrays
        Mean and standard deviation.
    mcse : (k,) array
        The Monte Carlo standard error of the mean.
    quantiles : (3, k) array
        5%, 50% and 95%.
    effective_sample_size : (k,) array
        How many independent draws would have that error: (sd / mcse)².
    status : Status
        Why the run ended.
    warnings : tuple of str
        Reasons not to trust the numbers.
    units, descriptions : mapping of str to str
        Of those that have them, by name.
    derived : tuple of str
        Which of the names are not parameters.
    """

    names: tuple[str, ...]
    mean: Array
    sd: Array
    mcse: Array
    quantiles: Array
    status: Status
    warnings: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    derived: tuple[str, ...] = ()

    @property
    def effective_sample_size(self) -> Array:
        """How many independent draws would have the error of the mean; NaN for what does not vary."""
        varies = self.mcse > 0
        return np.where(varies, self.sd / np.where(varies, self.mcse, 1.0), np.nan) ** 2

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's header."""
        return ("parameter", "mean", "mcse", "sd", *(f"{100 * q:.0f}%" for q in QUANTILES), "ess")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table's cells as text."""
        numbers = np.column_stack([self.mean, self.mcse, self.sd, self.quantiles.T])
        return [
            (name, f"{row[0]:.4g}", f"{row[1]:.2g}", *(f"{value:.4g}" for value in row[2:]), f"{size:.0f}")
            for name, row, size in zip(self._labels, numbers, self.effective_sample_size, strict=True)
        ]

    @property
    def sentences(self) -> list[str]:
        """What the quantities are, the status and the warnings."""
        return [*self.notes, str(self.status), *(f"Warning: {warning}" for warning in self.warnings)]

    @property
    def notes(self) -> list[str]:
        """What the quantities are."""
        derived = [f"Derived quantities: {', '.join(self.derived)}."] if self.derived else []
        return derived + [f"{name}: {self.descriptions[name]}" for name in self.names if self.descriptions.get(name)]

    @property
    def _labels(self) -> tuple[str, ...]:
        return tuple(label(name, self.units) for name in self.names)

    def __str__(self) -> str:
        return "\n".join([text_table(self.columns, self.rows), *self.sentences])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.rows) + html_paragraphs(self.sentences)


def scalars(derived: Mapping[str, Array], names: tuple[str, ...] = ()) -> dict[str, Array]:
    """Those that are one number, and have none of these names."""
    return {
        name: np.asarray(values, dtype=np.float64)
        for name, values in derived.items()
        if values.ndim == 1 and name not in names
    }


def numbers_of(points: Iterable[WeightedPoints]) -> dict[str, Any]:
    """Mean, its error, standard deviation and quantiles of all columns, one after the other."""
    each = [(p.mean.value, p.mean.error, np.sqrt(np.diag(p.cov.value)), p.quantile(QUANTILES).value) for p in points]
    means, errors, sds, quantiles = (np.concatenate(parts, axis=-1) for parts in zip(*each, strict=True))
    return {"mean": means, "mcse": errors, "sd": sds, "quantiles": quantiles}
