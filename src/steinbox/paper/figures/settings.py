"""How the settings of a run are written, and what of them the paper gives.

A setting is a bandwidth rule and, where something differs from what is always taken, options: ``"paper rate=0.3"``.
"""

from __future__ import annotations

from typing import Any

from steinbox.maps.coordinates import Plain
from steinbox.numerics.optimizers import Adam

RULES = ("paper", "liu-wang", "median")
RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
DEFAULT_RATE = 0.1  # of Adam, on which the paper is silent


def parse_options(setting: str) -> dict[str, str]:
    """The parts ``name=value`` of a setting.

    Examples
    --------
    >>> parse_options("paper rate=0.3")
    {'rate': '0.3'}
    """
    return dict(part.split("=") for part in setting.split() if "=" in part)


def rule_of(setting: str) -> str:
    """The bandwidth rule of a setting."""
    return setting.split()[0]


def with_rate(rule: str, rate: float) -> str:
    """The setting of a rule with a learning rate; that of 0.1 is not written.

    Examples
    --------
    >>> with_rate("paper", 1.0), with_rate("paper", 0.1)
    ('paper rate=1', 'paper')
    """
    return rule if rate == DEFAULT_RATE else f"{rule} rate={rate:g}"


def paper_settings(num_iterations: int, setting: str) -> dict[str, Any]:
    """Adam, the parameters' own coordinates, no rescue of stragglers, and a bandwidth rule."""
    return {
        "num_iterations": num_iterations,
        "bandwidth": rule_of(setting),
        "optimizer": Adam(float(parse_options(setting).get("rate", DEFAULT_RATE))),
        "coordinates": Plain(),
        "rescue": False,
    }
