"""A discrepancy: a number with what limits its reliability."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


class Discrepancy(float):
    """A float with its effective sample size and warnings.

    Attributes
    ----------
    value : float
        The number itself.
    effective_sample_size : float
        Of the weights that went into it.
    num_outside : int
        Points outside the target's support, which were left out.
    warnings : tuple of str
        Reasons not to trust the number; empty if there are none.

    Examples
    --------
    >>> distance = Discrepancy(0.25, effective_sample_size=99.5)
    >>> distance / 2, distance.value
    (0.125, 0.25)
    >>> distance
    <Discrepancy 0.25, effective sample size 99.5>
    """

    effective_sample_size: float
    num_outside: int
    warnings: tuple[str, ...]

    def __new__(
        cls,
        value: float,
        effective_sample_size: float = float("nan"),
        num_outside: int = 0,
        warnings: Iterable[str] = (),
    ) -> Discrepancy:
        """A float with attributes."""
        self = super().__new__(cls, value)
        self.effective_sample_size = effective_sample_size
        self.num_outside = num_outside
        self.warnings = tuple(warnings)
        return self

    @property
    def value(self) -> float:
        """The number as a plain float."""
        return float(self)

    def __repr__(self) -> str:
        notes = "".join(f" Warning: {warning}" for warning in self.warnings)
        return f"<Discrepancy {self.value:.4g}, effective sample size {self.effective_sample_size:.1f}{notes}>"

    __str__ = float.__repr__


def issue_warnings(messages: Iterable[str]) -> None:
    """Issue each as a warning at the line that called the public function."""
    for message in messages:
        warnings.warn(message, stacklevel=3)
