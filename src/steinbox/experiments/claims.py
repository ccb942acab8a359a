"""What the paper claims, beside what was measured, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steinbox.experiments.table import Seeds
from steinbox.types import Array

FAR = 0.5  # of log10 MMD²: a factor of 1.8 in MMD is "far"
SLIGHT = 0.3  # of log10 MMD²: up to a factor of 1.4 in MMD is "slightly"
_ERRORS = 2.0  # standard errors of the mean difference that count as different


@dataclass(frozen=True)
class Finding:
    """What was measured under one setting, and whether the claim holds there."""

    setting: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and the findings under one or more settings."""

    statement: str
    source: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """In words: it holds, holds only under some settings, or does not hold."""
        if not self.findings:
            return "not measured"
        holding = [finding.setting for finding in self.findings if finding.holds]
        if len(holding) == len(self.findings):
            return "holds"
        return f"holds only for: {'; '.join(holding)}" if holding else "does not hold"


def below(setting: str, first: Seeds, second: Seeds, by: float = 0.0) -> Finding:
    """Whether the first is below the second by more than ``by``, seed by seed, and surely so.

    Surely: the mean of the differences is beyond ``by`` by more than two of its standard errors.
    """
    differences = paired(first, second)
    error = _standard_error(differences)
    return Finding(setting, against(first, second), bool(differences.mean() + by < -_ERRORS * error))


def not_above(setting: str, first: Seeds, second: Seeds, by: float = 0.0) -> Finding:
    """Whether the first exceeds the second by no more than ``by`` in the mean over seeds."""
    return Finding(setting, against(first, second), bool(paired(first, second).mean() <= by))


def against(first: Seeds, second: Seeds) -> str:
    """Both means with their standard deviations over seeds, and in how many of them the first is lower."""
    differences = paired(first, second)
    both = f"{plus_minus(first)} against {plus_minus(second)}"
    if len(differences) == 1:
        return f"{both}, 1 seed"
    return f"{both}, lower in {(differences < 0).sum()} of {len(differences)} seeds"


def plus_minus(values: Seeds) -> str:
    """Mean ± standard deviation over seeds."""
    numbers = np.array(list(values.values()))
    return f"{numbers.mean():.2f} ± {numbers.std():.2f}"


def log10(values: Seeds) -> Seeds:
    """The logarithms, seed by seed."""
    return {seed: float(np.log10(value)) for seed, value in values.items()}


def paired(first: Seeds, second: Seeds) -> Array:
    """The differences over the seeds that both have."""
    common = sorted(set(first) & set(second))
    if not common:
        raise ValueError(f"no seed was run for both: {sorted(first)} and {sorted(second)}")
    return np.array([first[seed] - second[seed] for seed in common])


def _standard_error(differences: Array) -> float:
    return float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else 0.0


def lines(claims: Iterable[Claim]) -> list[list[str]]:
    """The claims as a table, one line per claim and setting. The first line is the head."""
    table = [["claim", "where", "setting", "measured", "there", "verdict"]]
    for claim in claims:
        for number, finding in enumerate(claim.findings):
            first = [claim.statement, claim.source] if number == 0 else ["", ""]
            verdict = f"**{claim.verdict}**" if number == 0 else ""
            table.append([*first, finding.setting, finding.measured, "yes" if finding.holds else "no", verdict])
    return table


def markdown(table: Sequence[Sequence[str]]) -> str:
    """A table whose first line is the head, as Markdown."""
    head, *rest = [f"| {' | '.join(line)} |" for line in table]
    return "\n".join([head, "|---" * len(table[0]) + "|", *rest])
