"""Claims of the paper, with what was measured and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.paper.table import Seeds

MIN_FAR = 0.5  # of log10 MMD²: a factor of 1.8 in MMD is "far"
MAX_SLIGHT = 0.3  # of log10 MMD²: up to a factor of 1.4 in MMD is "slightly"
_NUM_STANDARD_ERRORS = 2.0  # of the mean difference: beyond, two methods count as different


@dataclass(frozen=True)
class Finding:
    """What was measured under one setting, and whether the claim holds there; one seed alone decides nothing."""

    setting: str
    measured: str
    holds: bool
    is_one_seed: bool = False

    @property
    def caveat(self) -> str:
        """A remark that follows the answer."""
        return " (one seed)" if self.is_one_seed else ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it is made, and the findings under one or more settings."""

    statement: str
    source: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """Whether it holds, holds only under some settings, or does not hold."""
        if not self.findings:
            return "not measured"
        holding = [f"{finding.setting}{finding.caveat}" for finding in self.findings if finding.holds]
        caveats = [finding.caveat for finding in self.findings]
        if len(holding) == len(self.findings):
            return f"holds{max(caveats)}"
        return f"holds with: {'; '.join(holding)}" if holding else f"does not hold{min(caveats)}"


Judge: TypeAlias = Callable[[str, Seeds, Seeds], Finding]
"""A finding from the name of a setting and the values of two methods."""


def below(setting: str, first: Seeds, second: Seeds, by: float = 0.0) -> Finding:
    """Whether the first is below the second by more than ``by``, seed by seed, beyond chance.

    That is, the mean of the differences is beyond ``by`` by more than two of its standard errors. One seed has none:
    then the difference itself decides, and the finding says so.
    """
    differences = paired_differences(first, second)
    holds = bool(differences.mean() + by < -_NUM_STANDARD_ERRORS * _standard_error(differences))
    return Finding(setting, against(first, second), holds, is_one_seed=len(differences) == 1)


def not_above(setting: str, first: Seeds, second: Seeds, by: float = 0.0) -> Finding:
    """Whether the first exceeds the second by no more than ``by`` in the mean over seeds."""
    differences = paired_differences(first, second)
    return Finding(setting, against(first, second), bool(differences.mean() <= by), is_one_seed=len(differences) == 1)


def against(first: Seeds, second: Seeds) -> str:
    """Both means with their standard deviations over seeds, and in how many of them the first is lower."""
    differences = paired_differences(first, second)
    both = f"{plus_minus(first)} against {plus_minus(second)}"
    if len(differences) == 1:
        return f"{both}, 1 seed"
    return f"{both}, lower in {(differences < 0).sum()} of {len(differences)} seeds"


def plus_minus(values: Seeds) -> str:
    """Mean ± standard deviation over seeds, of which one has none."""
    numbers = np.array(list(values.values()))
    return f"{numbers.mean():.2f}" + (f" ± {numbers.std():.2f}" if len(numbers) > 1 else "")


def log10(values: Seeds) -> Seeds:
    """The logarithms, seed by seed."""
    return {seed: float(np.log10(value)) for seed, value in values.items()}


def paired_differences(first: Seeds, second: Seeds) -> Array:
    """The differences over the seeds that both have."""
    common = sorted(set(first) & set(second))
    if not common:
        raise ValueError(f"no seed was run for both: {sorted(first)} and {sorted(second)}")
    return np.array([first[seed] - second[seed] for seed in common])


def _standard_error(differences: Array) -> float:
    return float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else 0.0


def claim_table(claims: Iterable[Claim]) -> list[list[str]]:
    """The claims as a table, one line per claim and setting, the header first."""
    table = [["claim", "where", "setting", "measured", "there", "verdict"]]
    for claim in claims:
        for number, finding in enumerate(claim.findings):
            first = [claim.statement, claim.source] if number == 0 else ["", ""]
            verdict = f"**{claim.verdict}**" if number == 0 else ""
            table.append([*first, finding.setting, finding.measured, _answer(finding), verdict])
    return table


def _answer(finding: Finding) -> str:
    return f"{'yes' if finding.holds else 'no'}{finding.caveat}"


def markdown(table: Sequence[Sequence[str]]) -> str:
    """A table, its header first, as Markdown."""
    head, *rest = [f"| {' | '.join(line)} |" for line in table]
    return "\n".join([head, "|---" * len(table[0]) + "|", *rest])
