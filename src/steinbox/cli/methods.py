"""The methods by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import steinbox as sb


class Method(StrEnum):
    """What ``--method`` takes."""

    adaptive = "adaptive"
    annealed_gf_svgd = "annealed-gf-svgd"
    gf_svgd = "gf-svgd"
    annealed_svgd = "annealed-svgd"
    svgd = "svgd"
    importance = "importance"
    smc = "smc"
    ais = "ais"
    gf_ais = "gf-ais"
    random_walk_metropolis = "random-walk-metropolis"
    adaptive_metropolis = "adaptive-metropolis"
    differential_evolution = "differential-evolution"
    kamh = "kamh"
    khmc = "khmc"

    def make(self) -> sb.Method[Any]:
        """The method with its default settings."""
        return _METHODS[self]()


_METHODS: dict[Method, Callable[[], sb.Method[Any]]] = {
    Method.adaptive: sb.AdaptiveImportanceSampling,
    Method.annealed_gf_svgd: sb.AnnealedGFSVGD,
    Method.gf_svgd: sb.GFSVGD,
    Method.annealed_svgd: sb.AnnealedSVGD,
    Method.svgd: sb.SVGD,
    Method.importance: sb.baselines.ImportanceSampling,
    Method.smc: sb.baselines.SMC,
    Method.ais: sb.baselines.AIS,
    Method.gf_ais: sb.baselines.GFAIS,
    Method.random_walk_metropolis: sb.baselines.RandomWalkMetropolis,
    Method.adaptive_metropolis: sb.baselines.AdaptiveMetropolis,
    Method.differential_evolution: sb.baselines.DifferentialEvolution,
    Method.kamh: sb.baselines.KAMH,
    Method.khmc: sb.baselines.KHMC,
}
