r"""Reference draws of ``sb.targets.LogisticRegression.synthetic()``, whose exact moments are unknown.

Importance sampling from a multivariate t with 5 degrees of freedom, placed at the mode with the curvature found there.
Its tails are heavier than those of the posterior, so that the weights are bounded, and the draws are independent, so
that their standard errors are simple. Some of the draws, each taken with a probability proportional to its weight, are
written to a file that ``np.load(path)["draws"]`` reads.

Run ``python benchmarks/logistic_reference.py``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import multivariate_t

import steinbox as sb
from steinbox.numerics.weights import effective_sample_size, systematic_resample

RESULTS = Path(__file__).parent / "results" / "logistic_reference.npz"
NUM_PER_ROUND = 20_000


def laplace(posterior: sb.targets.LogisticRegression) -> tuple[np.ndarray, np.ndarray]:
    """The posterior's mode, and the inverse of its curvature there."""
    mode = minimize(
        lambda beta: -posterior.log_prob(beta[None])[0],
        np.zeros(posterior.dimension),
        jac=lambda beta: -posterior.score(beta[None])[0],
        tol=1e-10,
    ).x
    probabilities = expit(posterior.features @ mode)
    weighted = posterior.features * (probabilities * (1 - probabilities))[:, None]
    curvature = weighted.T @ posterior.features + np.eye(posterior.dimension) / posterior.prior_std**2
    return mode, np.linalg.inv(curvature)


def moments(result: sb.Result) -> np.ndarray:
    """Mean, its standard error, standard deviation, its standard error; one row per coordinate."""
    centred = result.particles - result.mean
    variance = result.weights @ centred**2
    mean_error = np.sqrt(result.weights**2 @ centred**2)
    variance_error = np.sqrt(result.weights**2 @ (centred**2 - variance) ** 2)
    return np.column_stack([result.mean, mean_error, np.sqrt(variance), variance_error / (2 * np.sqrt(variance))])


def main() -> None:
    """Sample, print the moments and write the draws."""
    parser = argparse.ArgumentParser(description="Reference draws of the synthetic logistic regression.")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--dimension", type=int, default=5)
    parser.add_argument("--evals", type=int, default=400_000)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the sampler; the data always have seed 0")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    posterior = sb.targets.LogisticRegression.synthetic(arguments.cases, arguments.dimension)
    mode, cov = laplace(posterior)
    result = sb.sample(
        posterior.log_prob,
        multivariate_t(mode, cov, df=5),
        method=sb.baselines.ImportanceSampling(),
        num_particles=min(NUM_PER_ROUND, arguments.evals),
        max_evals=arguments.evals,
        vectorized=True,
        seed=arguments.seed,
    )
    size = effective_sample_size(result.weights)
    print(f"{result.num_evals:,} evaluations, effective sample size {size:,.0f}\n")
    print("| coordinate | mode | mean ± its standard error | sd ± its standard error |\n|---|---|---|---|")
    for k, (mean, mean_error, sd, sd_error) in enumerate(moments(result)):
        print(f"| {k} | {mode[k]:.4f} | {mean:.4f} ± {mean_error:.4f} | {sd:.4f} ± {sd_error:.4f} |")
    chosen = systematic_resample(result.weights, arguments.draws, np.random.default_rng(arguments.seed))
    np.savez_compressed(arguments.output, draws=result.particles[chosen].astype(np.float32))
    print(f"\n{len(np.unique(chosen)):,} different draws of {arguments.draws:,} in {arguments.output}")


if __name__ == "__main__":
    main()
