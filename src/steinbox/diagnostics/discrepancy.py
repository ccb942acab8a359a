"""A discrepancy: a number that knows how much it is worth."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


class Discrepancy(float):
    """A float with what one should know about it.

    Attributes
    ----------
    value : float
        The number itself.
    effective_sample_size : float
        Of the weights that went into it.
    num_outside : int
        Points outside the target's support, which were left out.
    warnings : tuple of str
        What makes the number doubtful; empty if nothing does.

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
        """A number and its story."""
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
        doubts = "".join(f" Warning: {warning}" for warning in self.warnings)
        return f"<Discrepancy {self.value:.4g}, effective sample size {self.effective_sample_size:.1f}{doubts}>"

    __str__ = float.__repr__


def warn(doubts: Iterable[str]) -> None:
    """Say what makes a number doubtful to whoever called the public function that made it."""
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=3)
