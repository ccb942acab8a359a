r"""Part A: the mixture of 20 Gaussians and the ring of stacked variational runs, without noise and with sd 3.

M. Silvestrin, C. Li & L. Acerbi (2025). Stacking variational Bayesian Monte Carlo. *Transactions on Machine Learning
Research*. Two dimensions, no prior, starts uniform in [−10, 10]².

The seed of the means was not published; these are the means as drawn. Of the ring, three versions are public, which
differ by a factor r (a tilt of 1%) or by a constant: this is the formula of the paper, with its own integral.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from case import Case
from scipy import stats

import steinbox as sb

SIGNED_MEANS = """
+ -8.26198 -8.75506 + -6.99245 -8.41215 - -7.94353 -7.96066 - -6.94654 -6.25664 - -8.31801 -8.86117
- -5.35378 9.09809 + -6.57295 7.03575 + -6.51023 7.15063 - -6.45465 6.41257 + -5.08644 8.34792
+ 5.39973 -5.16531 - 6.84830 -4.83861 - 6.79134 -4.86439 + 6.04858 -7.71909 + 6.67276 -4.80883
- 5.30248 4.88622 - 6.22996 4.04108 - 4.86278 6.56073 + 4.38010 6.32750 - 5.11056 6.32234
"""
CENTER, RADIUS, WIDTH = np.array([1.0, -2.0]), 8.0, 0.1
BOX = (stats.uniform(-10, 20), stats.uniform(-10, 20))
NOISE = 3.0


def mixture() -> tuple[sb.GaussianMixture, float]:
    """The normalized mixture, and the logarithm of the mass of all its components, one each."""
    words = SIGNED_MEANS.split()
    components = [
        sb.Gaussian([float(x), float(y)], cov=[[1.0, float(f"{sign}0.5")], [float(f"{sign}0.5"), 1.0]])
        for sign, x, y in zip(words[::3], words[1::3], words[2::3], strict=True)
    ]
    return sb.GaussianMixture(components), float(np.log(len(components)))


def ring_log_density(points: np.ndarray) -> np.ndarray:
    return -0.5 * ((np.hypot(*(points - CENTER).T) - RADIUS) / WIDTH) ** 2


def ring_draws(num_points: int, rng: np.random.Generator) -> np.ndarray:
    return CENTER + sb.targets.Ring(RADIUS, WIDTH).sample(num_points, rng)


def cases() -> list[Case]:
    density, log_mass = mixture()
    log_circle = float(np.log(2 * np.pi * RADIUS * WIDTH * np.sqrt(2 * np.pi)))
    make = partial(Case, factors=BOX, has_prior=False)
    targets = {
        "mixture": (lambda x: density.log_prob(x) + log_mass, log_mass, density.sample),
        "ring": (ring_log_density, log_circle, ring_draws),
    }
    plain = [
        make(name, log_density, log_evidence=log_z, sample=sample, budgets=(1_000, 2_000, 4_000), printed_budget=2_000)
        for name, (log_density, log_z, sample) in targets.items()
    ]
    noisy = [
        make(
            f"{name}, noise",
            log_density,
            log_evidence=log_z,
            sample=sample,
            budgets=(1_500, 3_000, 6_000),
            printed_budget=3_000,
            noise=NOISE,
        )
        for name, (log_density, log_z, sample) in targets.items()
    ]
    return plain + noisy
