"""How a method is run on a case, as a user of the suite would: the prior is known, or the box to start in."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata

import numpy as np
from case import Case
from measures import Answer

import steinbox as sb


@dataclass(eq=False)
class Counted:
    """The log-likelihood with its noise; it counts points, not calls, and the processor time that they take."""

    case: Case
    seed: int
    num_evals: int = 0
    cpu_seconds: float = 0.0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, 1])

    def __call__(self, points: np.ndarray) -> np.ndarray:
        self.num_evals += len(points)
        start = time.process_time()
        values = self.case.log_likelihood(points)
        self.cpu_seconds += time.process_time() - start
        return values + self.case.noise * self.rng.standard_normal(len(points)) if self.case.noise else values


Method = Callable[[Case, Counted, int, int], Answer]


def run_steinbox(
    case: Case, log_likelihood: Counted, budget: int, seed: int, method: sb.Sampler | None = None
) -> Answer:
    """``sb.sample`` with nothing set but the budget, and the method if it is not the default; its weighted pool."""
    prior = list(case.factors)
    result = sb.sample(
        sb.Model(log_likelihood, prior=prior) if case.has_prior else log_likelihood,
        None if case.has_prior else prior,
        method=method,
        max_evals=budget,
        vectorized=True,
        noise=case.noise or None,
        progress=False,
        seed=seed,
    )
    log_evidence, error = result.log_evidence, result.log_evidence_error
    return Answer(result.pool, result.pool_weights, log_evidence, error, len(result.warnings), result.particles)


SEARCH = sb.AdaptiveImportanceSampling(proposers=(sb.adaptive.SurrogateSearch(), *sb.adaptive.DEFAULT_PROPOSERS))


def exact(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    """As many exact draws as there are evaluations: the floor of the measures."""
    if not case.has_exact_draws:
        raise ValueError("no draws but those of the reference itself")
    draws = case.sample(budget, np.random.default_rng([seed, 3]))
    return Answer(draws, np.full(len(draws), 1 / len(draws)))


METHODS: dict[str, Method] = {
    "default": run_steinbox,
    "all evaluations": partial(run_steinbox, method=sb.AdaptiveImportanceSampling(stop_early=False)),
    "search": partial(run_steinbox, method=SEARCH),
    "exact": exact,
}


def find_method(name: str) -> Method:
    """One of the above, or ``run`` of a peer's module ``with_<name>`` on the import path."""
    return METHODS.get(name) or importlib.import_module(f"with_{name}").run


def version_of(name: str) -> str:
    """Of the packages that a peer's module says it rests on; nothing for a method of ours."""
    packages = () if name in METHODS else importlib.import_module(f"with_{name}").PACKAGES
    return "".join(f"{package} {metadata.version(package)}, " for package in packages)
