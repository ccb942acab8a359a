"""The problems: a log-density, where to start, and exact draws to compare with.

The archive sampler's parts and rules were chosen while looking at the groups "tuning" and "seen". Those of the group
"test" were written when all was chosen, and nothing was changed for their sake.

The start is N(0, 9 I) with four exceptions: ``off_centre_modes10`` starts beyond one of its two modes, ``far_t8`` has
its target moved instead, and ``half_normal10`` and ``exponential6`` start at N(1, I), because few draws of N(0, 9 I)
would lie inside their walls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from extra_targets import (
    Copies,
    CorrelatedT,
    Crescents,
    CubicValley,
    DirichletLogits,
    Exponentials,
    HalfNormal,
    HybridRosenbrock,
    IndependentTs,
    LogGamma,
    Logistic,
    Mirrored,
    RandomEffects,
    Rotated,
    RotatedLaplace,
    RoundMixture,
    Shell,
    Shifted,
    SineValleys,
    SinhArcsinh,
    TwoTs,
    eight_schools,
    scattered_modes,
    spike_and_slab,
    spiral,
    unequal_modes,
    wide_scales,
)
from generator import generate

import steinbox as sb

LOGISTIC_DRAWS = Path(__file__).parent.parent / "results" / "logistic_reference.npz"
NUM_FOR_MOMENTS = 200_000


@dataclass(frozen=True, eq=False)
class Problem:
    """What a method gets, and what it is compared with.

    ``log_prob`` maps (n, d) to (n,), without noise; ``noise`` is the standard deviation of what is added to it at every
    evaluation. ``score`` is its gradient where the target has one and there is no noise.
    """

    name: str
    group: str
    log_prob: Callable[[np.ndarray], np.ndarray]
    initial: sb.Gaussian
    sample: Callable[[int, np.random.Generator], np.ndarray]
    dimension: int
    noise: float = 0.0
    score: Callable[[np.ndarray], np.ndarray] | None = None
    exact_moments: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def is_generated(self) -> bool:
        return self.group in ("development", "report")

    @property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances: exact where they are known, else those of many exact draws."""
        if self.exact_moments is not None:
            return self.exact_moments
        draws = self.sample(NUM_FOR_MOMENTS, np.random.default_rng(2))
        return draws.mean(axis=0), draws.var(axis=0)


def problem(name: str, group: str, target: Any, initial: sb.Gaussian | None = None, noise: float = 0.0) -> Problem:
    """The problem of a target, which starts at N(0, 9 I) if not told otherwise."""
    has_moments = hasattr(target, "mean") and hasattr(target, "cov")
    return Problem(
        name,
        group,
        target.log_prob,
        sb.Gaussian(np.zeros(target.dimension), std=3.0) if initial is None else initial,
        target.sample,
        target.dimension,
        noise,
        score=None if noise else getattr(target, "score", None),
        exact_moments=(target.mean, np.diag(target.cov)) if has_moments else None,
    )


def beyond_a_mode(modes: sb.GaussianMixture) -> sb.Gaussian:
    """A start centred at twice the first mode."""
    return sb.Gaussian(2 * modes.components[0].mean, std=3.0)


def as_round(mixture: sb.GaussianMixture) -> RoundMixture:
    return RoundMixture(mixture.components, mixture.weights)


def mixed_modes() -> RoundMixture:
    """Three modes of unequal weights, whose scales differ by a factor of twelve."""
    components = [
        sb.Gaussian([3.0, 3.0, 0.0, 0.0, 0.0], std=1.0),
        sb.Gaussian([-3.0, 0.0, 3.0, 0.0, 0.0], std=0.2),
        sb.Gaussian([0.0, -4.0, -4.0, 0.0, 0.0], std=2.5),
    ]
    return RoundMixture(components, weights=[0.5, 0.3, 0.2])


def tuning_problems() -> list[Problem]:
    """Those on which settings may be chosen."""
    rbm, banana = sb.paper.targets.paper_rbm(), sb.targets.Banana()
    gmm = as_round(sb.paper.targets.paper_gmm())
    modes = as_round(sb.targets.separated_modes(10, distance=8.0, share=0.5))
    return [
        problem("gauss2", "tuning", sb.paper.targets.paper_gaussian()),
        problem("gmm25", "tuning", gmm),
        problem("rbm20", "tuning", rbm),
        problem("banana2", "tuning", banana),
        problem("funnel10", "tuning", sb.targets.Funnel(10)),
        problem("two_modes10", "tuning", modes),
        problem("off_centre_modes10", "tuning", modes, initial=beyond_a_mode(modes)),
        problem("gmm25_noise", "tuning", gmm, noise=0.5),
        problem("rbm20_noise", "tuning", rbm, noise=0.5),
        problem("banana2_noise", "tuning", banana, noise=0.5),
    ]


def seen_problems() -> list[Problem]:
    """Harder and different ones, that were looked at too."""
    student_t = sb.targets.StudentT(8, dof=5.0)
    return [
        problem("ar30", "seen", sb.targets.autoregressive(30)),
        problem("ar60", "seen", sb.targets.autoregressive(60)),
        problem("student_t8", "seen", student_t),
        problem("far_t8", "seen", Shifted(student_t, distance=20.0)),
        problem("ring2", "seen", sb.targets.Ring()),
        problem("ten_bananas20", "seen", Copies(10)),
        problem("rotated_bananas10", "seen", Rotated(Copies(5))),
        problem("half_normal10", "seen", HalfNormal(10), initial=sb.Gaussian(np.ones(10), std=1.0)),
        problem("eight_schools", "seen", eight_schools()),
        problem("hybrid_rosenbrock", "seen", HybridRosenbrock()),
        problem("skew20", "seen", LogGamma(20)),
        problem("logistic", "seen", Logistic(np.load(LOGISTIC_DRAWS)["draws"].astype(np.float64))),
        problem("mixed_modes5", "seen", mixed_modes()),
        problem("sine_valleys8", "seen", SineValleys(4)),
        problem("heavy_t15", "seen", sb.targets.StudentT(15, dof=3.0)),
        problem("random_effects8", "seen", RandomEffects(6)),
        problem("exponential6", "seen", Exponentials(6), initial=sb.Gaussian(np.ones(6), std=1.0)),
        problem("scattered_modes6", "seen", scattered_modes(6, num_modes=6)),
        problem("correlated_t12", "seen", CorrelatedT(12, dof=4.0)),
        problem("sinh_arcsinh8", "seen", SinhArcsinh(8)),
        problem("shell4", "seen", Shell(4)),
        problem("dirichlet7", "seen", DirichletLogits()),
        problem("spike_and_slab10", "seen", spike_and_slab(10)),
        problem("unequal_modes15", "seen", unequal_modes(15)),
        problem("two_ts20", "seen", TwoTs(20)),
        problem("rotated_laplace16", "seen", RotatedLaplace(16)),
        problem("mirrored_bananas6", "seen", Mirrored(Copies(3))),
        problem("three_rings6", "seen", Copies(3, sb.targets.Ring())),
        problem("wide_scales30", "seen", wide_scales(30)),
    ]


def test_problems() -> list[Problem]:
    """Those on which nothing was chosen."""
    return [
        problem("spiral2", "test", spiral(60)),
        problem("cubic_valley3", "test", CubicValley()),
        problem("crescents4", "test", Crescents()),
        problem("turned_funnel6", "test", Rotated(sb.targets.Funnel(6))),
        problem("independent_ts8", "test", IndependentTs(8)),
    ]


def generated_problem(name: str) -> Problem:
    """That of a name like "generated17"."""
    number = name.removeprefix("generated")
    if number == name or not number.isdecimal():
        raise KeyError(name)
    drawn = generate(int(number))
    group = "development" if int(number) % 2 == 0 else "report"
    return problem(name, group, drawn.target, sb.Gaussian(drawn.start_mean, std=drawn.start_std))


class Problems(dict[str, Problem]):
    """By name; those that are drawn at random are made when they are asked for."""

    def __missing__(self, name: str) -> Problem:
        self[name] = generated_problem(name)
        return self[name]


PROBLEMS = Problems({each.name: each for each in [*tuning_problems(), *seen_problems(), *test_problems()]})
