"""The four suites by name, cheapest first."""

from __future__ import annotations

from functools import cache

import part_a
import part_b
import part_c
import part_d
from case import Case

SUITES = {"vbmc": part_c.cases, "stacking": part_a.cases, "cube": part_d.cases, "regression": part_b.cases}


@cache
def cases_of(suite: str) -> dict[str, Case]:
    """Its cases by name."""
    return {case.name: case for case in SUITES[suite]()}
