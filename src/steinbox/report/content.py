"""What a report shows, as plain text and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from steinbox.common.arrays import Array, IntegerArray


class Level(IntEnum):
    """How serious an objection to a result is; a verdict has the highest of its findings."""

    GOOD = 0
    NOTE = 1
    CAUTION = 2
    BAD = 3


@dataclass(frozen=True)
class Finding:
    """One reason for a verdict."""

    level: Level
    text: str


def worst_level(findings: Sequence[Finding]) -> Level:
    """That of the finding that speaks most against a result; a note does not.

    Examples
    --------
    >>> worst_level([Finding(Level.GOOD, "It converged."), Finding(Level.NOTE, "It was fast.")]).name
    'GOOD'
    """
    worst = max((finding.level for finding in findings), default=Level.GOOD)
    return Level.GOOD if worst is Level.NOTE else worst


@dataclass(frozen=True)
class Verdict:
    """Whether a result can be trusted, why, and what to do, in words."""

    headline: str
    findings: tuple[Finding, ...]
    advice: tuple[str, ...]

    @property
    def level(self) -> Level:
        """The worst of its findings."""
        return worst_level(self.findings)


@dataclass(frozen=True)
class Table:
    """Cells of text, and sentences below."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Cloud:
    """What the corner plot shows: k quantities, of draws from the pool and of the particles.

    Attributes
    ----------
    labels : sequence of str
        Of the k quantities: parameters, then derived ones.
    draws : (m, k) array
        Equally weighted.
    particles, weights, log_prob : (n, k) array, (n,) array, (n,) array
    low, high : (k,) arrays
        The ends of the axes.
    """

    labels: Sequence[str]
    draws: Array
    particles: Array
    weights: Array
    log_prob: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Way:
    """What the slider shows: at its t-th of T places, the rows ``begin[t]`` to ``end[t]`` of N points.

    Attributes
    ----------
    caption : str
        What the points are.
    num_evals, begin, end : (T,) arrays
        Evaluations up to there, and the rows.
    points, log_prob : (N, d) array, (N,) array
    low, high : (d,) arrays
        The ends of the axes.
    is_flow : bool
        Whether the i-th row of one place is the i-th of the next, moved.
    """

    caption: str
    num_evals: IntegerArray
    begin: IntegerArray
    end: IntegerArray
    points: Array
    log_prob: Array
    low: Array
    high: Array
    is_flow: bool = False


@dataclass(frozen=True, eq=False)
class Curve:
    """A number over the iterations."""

    name: str
    values: Array


@dataclass(frozen=True)
class Fault:
    """Failed evaluations of one kind, and the first of them."""

    kind: str
    count: int
    point: str
    message: str
    traceback: str


@dataclass(frozen=True, eq=False)
class Content:
    """A whole report, in the order of the page; of a run that goes on, with a button that stops it."""

    title: str
    subtitle: str
    verdict: Verdict
    facts: Sequence[tuple[str, str]]
    summary: Table
    cloud: Cloud
    way: Way
    curves: Sequence[Curve]
    diagnostics: Sequence[str]
    faults: Sequence[Fault]
    config: Sequence[tuple[str, str]]
    code: str
    is_running: bool = False
