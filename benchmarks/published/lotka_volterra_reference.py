"""The reference of part B's Lotka–Volterra posterior, by methods that steinbox has no part in.

emcee's ensemble in the logarithms of the parameters gives mean and covariance of a multivariate t-distribution;
importance sampling from it gives the log-evidence with its standard error, and draws by systematic resampling. The
ensemble's own means are printed beside those of the draws.

Run ``python benchmarks/published/lotka_volterra_reference.py`` (about three minutes).
"""

from __future__ import annotations

import emcee
import numpy as np
from part_b import REFERENCE, lotka_volterra_log_likelihood, lotka_volterra_prior
from scipy import stats
from scipy.special import logsumexp

GUESS = np.log([0.55, 0.028, 0.80, 0.024, 34.0, 6.0, 0.25, 0.25])
NUM_WALKERS, NUM_STEPS, NUM_BURN_IN = 200, 2_500, 1_000
NUM_PROPOSED, NUM_DRAWS, DOF, INFLATION = 400_000, 20_000, 8, 1.1


def log_density(logs: np.ndarray) -> np.ndarray:
    """Of the logarithms of the parameters, with the determinant."""
    points = np.exp(logs)
    log_prior = sum(each.logpdf(column) for each, column in zip(lotka_volterra_prior(), points.T, strict=True))
    return lotka_volterra_log_likelihood(points) + log_prior + logs.sum(axis=1)


def ensemble(rng: np.random.Generator) -> np.ndarray:
    sampler = emcee.EnsembleSampler(NUM_WALKERS, len(GUESS), log_density, vectorize=True)
    sampler.run_mcmc(GUESS + 0.05 * rng.standard_normal((NUM_WALKERS, len(GUESS))), NUM_STEPS)
    return sampler.get_chain(discard=NUM_BURN_IN, flat=True)


def main() -> None:
    rng = np.random.default_rng(1900)
    np.random.seed(1900)  # noqa: NPY002  # emcee's own
    chain = ensemble(rng)
    proposal = stats.multivariate_t(chain.mean(axis=0), INFLATION * np.cov(chain.T), df=DOF, seed=rng)
    proposed = proposal.rvs(NUM_PROPOSED)
    values = np.concatenate([log_density(block) for block in np.array_split(proposed, 200)])
    log_weights = values - proposal.logpdf(proposed)
    log_evidence = logsumexp(log_weights) - np.log(NUM_PROPOSED)
    ratios = np.exp(log_weights - log_evidence)
    error, weights = ratios.std() / np.sqrt(NUM_PROPOSED), ratios / ratios.sum()
    places = (np.arange(NUM_DRAWS) + rng.random()) / NUM_DRAWS
    draws = np.exp(proposed[np.minimum(np.searchsorted(weights.cumsum(), places), NUM_PROPOSED - 1)])
    print(f"log evidence {log_evidence:.4f} ± {error:.4f}, worth {1 / (weights**2).sum():,.0f} draws")
    print(f"largest weight times the number of draws {weights.max() * NUM_DRAWS:.2f}")
    print("means, emcee", np.exp(chain).mean(axis=0).round(4), "draws", draws.mean(axis=0).round(4))
    print("sds, emcee  ", np.exp(chain).std(axis=0).round(4), "draws", draws.std(axis=0).round(4))
    REFERENCE.parent.mkdir(exist_ok=True)
    np.savez_compressed(REFERENCE, draws=draws.astype(np.float32), log_evidence=log_evidence, error=error)


if __name__ == "__main__":
    main()
