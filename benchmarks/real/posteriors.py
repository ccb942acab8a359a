"""All models by name."""

from __future__ import annotations

from functools import cache

import hierarchies
import regressions
import series
import smooth_and_mixed
from posterior import Posterior

MAKERS = (
    regressions.linear_diabetes,
    regressions.robust_stackloss,
    regressions.logistic_spector,
    regressions.logistic_cancer,
    regressions.poisson_executions,
    regressions.weibull_lung,
    hierarchies.centred_smoking,
    hierarchies.centred_dyestuff,
    hierarchies.non_centred_dyestuff,
    series.ar_sunspots,
    series.garch_inflation,
    series.switching_growth,
    series.ode_lynx,
    smooth_and_mixed.mixture_faithful,
    smooth_and_mixed.gp_nile,
)


@cache
def find_posterior(name: str) -> Posterior:
    return next(make() for make in MAKERS if make.__name__ == name)


NAMES = tuple(make.__name__ for make in MAKERS)
