r"""Part C: lumpy, Student and cigar of VBMC in 2, 6 and 10 dimensions, 50 (D + 2) evaluations.

L. Acerbi (2018). Variational Bayesian Monte Carlo. *NeurIPS* 31. Likelihood times a normal prior, from the authors'
public MATLAB code. Results are printed as figures only.
"""

from __future__ import annotations

import numpy as np
from case import Case, Tabulated, mixture_of
from scipy import stats

import steinbox as sb

DIMENSIONS = (2, 6, 10)
MATLAB_SEED = 5489  # of MATLAB's rng(0)
NUM_LUMPS = 12
NUM_STUDENT_SDS = 40  # prior standard deviations to each side that a marginal is tabulated over

STUDENT_LOCATIONS = {
    2: "2.58778 4.42535",
    6: "4.87741 1.04667 .81348 1.83618 1.35107 .89623",
    10: "3.17899 1.66306 .55380 3.54263 1.49940 1.29420 .20924 .98371 3.73271 .77912",
}
STUDENT_SCALES = {
    2: "3.27309 5.63978",
    6: ".26750 1.60695 1.27718 .15188 1.84470 3.05190",
    10: "1.20877 .61965 .99559 .88749 .65486 .44821 .58513 2.73369 .38575 6.35615",
}
CIGAR_AXES = {
    2: ".89851 .43895",
    6: "-.17720 -.82003 .30865 .34604 -.20447 -.19833",
    10: "-.27125 .09312 .01697 -.20794 .41411 .01506 -.20447 -.12540 .55043 .58481",
}


def numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def lumps(dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means (12, d), standard deviations (12, d) and weights of the lumps, as MATLAB's generator drew them."""
    stream = np.random.RandomState(MATLAB_SEED)  # the same Mersenne twister
    stream.random_sample(NUM_LUMPS * (dimension**2 - 1))
    means = stream.random_sample(NUM_LUMPS * dimension).reshape(dimension, NUM_LUMPS).T
    order = np.argsort(stream.random_sample((NUM_LUMPS, dimension)), axis=1)
    weights = -np.log(stream.random_sample(NUM_LUMPS))
    return means, np.linspace(0.2, 0.6, dimension)[order], weights / weights.sum()


def times_normal(gaussian: sb.Gaussian, mean: np.ndarray, sd: np.ndarray) -> tuple[sb.Gaussian, float]:
    """The normalized product with N(mean, diag(sd²)), and the logarithm of its integral."""
    total = gaussian.cov + np.diag(sd**2)
    log_integral = float(sb.Gaussian(mean, cov=total).log_prob(gaussian.mean[None])[0])
    gain = np.linalg.solve(total, gaussian.cov).T  # the likelihood's covariance over the sum of both
    new_mean = gaussian.mean + gain @ (mean - gaussian.mean)
    cov = gaussian.cov - gain @ gaussian.cov
    return sb.Gaussian(new_mean, cov=0.5 * (cov + cov.T)), log_integral


def lumpy(dimension: int) -> Case:
    """Twelve Gaussians with centers in the unit cube; prior N(.5, 2.25)."""
    means, sds, weights = lumps(dimension)
    likelihood = mixture_of([sb.Gaussian(m, cov=np.diag(s**2)) for m, s in zip(means, sds, strict=True)], weights)
    center, width = np.full(dimension, 0.5), np.full(dimension, 1.5)
    parts = [times_normal(each, center, width) for each in likelihood.components]
    masses = weights * np.exp([log_integral for _, log_integral in parts])
    posterior = mixture_of([gaussian for gaussian, _ in parts], masses)
    prior = [stats.norm(0.5, 1.5)] * dimension
    return make(f"lumpy-{dimension}", likelihood.log_prob, prior, float(np.log(masses.sum())), posterior.sample)


def student(dimension: int) -> Case:
    """Independent t-distributions of 2.5, 3, 3.5, … degrees of freedom."""
    dofs = 2 + np.arange(1, dimension + 1) / 2
    locations, scales = numbers(STUDENT_LOCATIONS[dimension]), numbers(STUDENT_SCALES[dimension])
    widths = 1 + 2 * scales * np.sqrt(dofs / (dofs - 2))
    prior = [stats.norm(0, width) for width in widths]
    factors = [stats.t(*parameters) for parameters in zip(dofs, locations, scales, strict=True)]

    def log_likelihood(points: np.ndarray) -> np.ndarray:
        return stats.t.logpdf(points, dofs, locations, scales).sum(axis=1)

    marginals = [
        Tabulated.of(
            lambda x, t=t, n=n: t.logpdf(x) + n.logpdf(x), -NUM_STUDENT_SDS * n.std(), NUM_STUDENT_SDS * n.std()
        )
        for t, n in zip(factors, prior, strict=True)
    ]

    def sample(num_points: int, rng: np.random.Generator) -> np.ndarray:
        return np.column_stack([each.sample(num_points, rng) for each in marginals])

    log_evidence = sum(each.log_integral for each in marginals)
    return make(f"student-{dimension}", log_likelihood, prior, log_evidence, sample)


def cigar(dimension: int) -> Case:
    """A Gaussian of sd 100 along one axis and 1 across it."""
    axis = numbers(CIGAR_AXES[dimension])
    likelihood = sb.Gaussian(np.linspace(-1, 1, dimension), cov=np.eye(dimension) + 9_999 * np.outer(axis, axis))
    widths = 1 + 2 * np.sqrt(1 + 9_999 * axis**2)
    posterior, log_evidence = times_normal(likelihood, np.zeros(dimension), widths)
    prior = [stats.norm(0, width) for width in widths]
    return make(f"cigar-{dimension}", likelihood.log_prob, prior, log_evidence, posterior.sample)


def make(name: str, log_likelihood, prior, log_evidence: float, sample) -> Case:
    printed = 50 * (len(prior) + 2)
    return Case(name, log_likelihood, prior, log_evidence, sample, (printed, 2 * printed, 4 * printed), printed)


def cases() -> list[Case]:
    return [family(dimension) for family in (lumpy, student, cigar) for dimension in DIMENSIONS]
