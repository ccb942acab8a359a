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
    Method.importance: lambda: sb.baselines.ImportanceSampling(),
    Method.smc: lambda: sb.baselines.SMC(),
    Method.ais: lambda: sb.baselines.AIS(),
    Method.gf_ais: lambda: sb.baselines.GFAIS(),
    Method.random_walk_metropolis: lambda: sb.baselines.RandomWalkMetropolis(),
    Method.adaptive_metropolis: lambda: sb.baselines.AdaptiveMetropolis(),
    Method.differential_evolution: lambda: sb.baselines.DifferentialEvolution(),
    Method.kamh: lambda: sb.baselines.KAMH(),
    Method.khmc: lambda: sb.baselines.KHMC(),
}
