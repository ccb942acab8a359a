"""The four suites by name, cheapest first; real posteriors, whose data are in packages of their own; cheap problems."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import part_a
import part_b
import part_c
import part_d
from case import Case

PUBLISHED = {"vbmc": part_c.cases, "stacking": part_a.cases, "cube": part_d.cases, "regression": part_b.cases}


def real() -> list[Case]:
    sys.path.append(str(Path(__file__).parent.parent / "real"))
    import real_cases

    return real_cases.cases()


def cost() -> list[Case]:
    sys.path.append(str(Path(__file__).parent.parent / "cost"))
    import cost_cases

    return cost_cases.cases()


SUITES = {**PUBLISHED, "real": real, "cost": cost}


@cache
def cases_of(suite: str) -> dict[str, Case]:
    """Its cases by name."""
    return {case.name: case for case in SUITES[suite]()}
