"""Reference draws of the real posteriors by NUTS, and what says that they are right.

NUTS (numpyro) with a dense metric, in units of the start. Chains must agree (R-hat), be long enough (effective sample
size), and satisfy Stein's identities, which need no other sampler: the score has mean zero, and times the parameter's
deviation from its mean it has mean −1. The log-evidence is by importance sampling from a t-distribution with the draws'
moments, and is kept if its standard error is small.

Run ``make reference-real``, or ``python benchmarks/real/reference.py [MODEL …]`` where jax and numpyro are installed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax_density import log_density
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS
from posterior import Posterior
from posteriors import NAMES, find_posterior
from scipy import stats
from scipy.special import logsumexp

FILE = Path(__file__).parent.parent / "results" / "real" / "reference.npz"
NUM_CHAINS, NUM_WARM_UP, NUM_KEPT = 4, 2_000, 2_000
NUM_SAMPLES = (5_000, 20_000)  # more only where few were not enough
MAX_R_HAT, MIN_EFFECTIVE, MAX_STEIN = 1.01, 2_000, 4.5
NUM_PROPOSED, DOF, MAX_LOG_Z_ERROR = 200_000, 6, 0.02


def chains(posterior: Posterior, num_samples: int, seed: int) -> np.ndarray:
    """(chains, samples, d), all labels in one order."""
    center, scale = np.array(posterior.start).T
    density = log_density(posterior)
    sampler = MCMC(
        NUTS(potential_fn=lambda z: -density(center + scale * z), dense_mass=True, target_accept_prob=0.95),
        num_warmup=NUM_WARM_UP,
        num_samples=num_samples,
        num_chains=NUM_CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    begin = 0.3 * np.random.default_rng(seed).standard_normal((NUM_CHAINS, posterior.dimension))
    sampler.run(jax.random.key(seed), init_params=jnp.asarray(begin))
    return ordered(posterior, center + scale * np.asarray(sampler.get_samples(group_by_chain=True)))


def ordered(posterior: Posterior, points: np.ndarray) -> np.ndarray:
    """The first label where the mean is smaller."""
    if posterior.swap is None:
        return points
    return np.where(points[..., :1] <= points[..., 1:2], points, posterior.swap(points))


def stein(posterior: Posterior, draws: np.ndarray, num_effective: float) -> float:
    """The largest deviation from Stein's identities, in standard errors."""
    score = np.asarray(jax.lax.map(jax.grad(log_density(posterior)), jnp.asarray(draws), batch_size=500))
    terms = np.concatenate([score, (draws - draws.mean(axis=0)) * score + 1], axis=1)
    return float(np.abs(terms.mean(axis=0) / terms.std(axis=0)).max() * np.sqrt(num_effective))


def log_evidence(posterior: Posterior, draws: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """And its standard error; a swap of labels doubles the integral over one order."""
    center, sd = draws.mean(axis=0), draws.std(axis=0)
    proposal = stats.multivariate_t(np.zeros(len(sd)), 1.1 * np.corrcoef(draws.T), df=DOF, seed=rng)
    proposed = proposal.rvs(NUM_PROPOSED)
    points = center + sd * proposed
    inside = np.ones(len(points), dtype=bool) if posterior.swap is None else points[:, 0] <= points[:, 1]
    values = np.concatenate([posterior.log_prob(block) for block in np.array_split(points, 400)])
    log_weights = np.where(inside, values - proposal.logpdf(proposed) + np.log(sd).sum(), -np.inf)
    estimate = logsumexp(log_weights) - np.log(NUM_PROPOSED)
    error = np.exp(log_weights - estimate).std() / np.sqrt(NUM_PROPOSED)
    return float(estimate + (np.log(2) if posterior.swap else 0)), float(error)


def reference(posterior: Posterior, num_samples: int, seed: int = 0) -> dict[str, np.ndarray]:
    """What goes to the file; raises if a check fails."""
    rng, began = np.random.default_rng([seed, 5]), time.perf_counter()
    easier, to_own = (posterior, None) if posterior.easier is None else (posterior.easier[0](), posterior.easier[1])
    samples = chains(easier, num_samples, seed)
    r_hat, effective = split_gelman_rubin(samples).max(), effective_sample_size(samples).min()
    draws = samples.reshape(-1, posterior.dimension)
    estimate, error = log_evidence(easier, draws, rng)
    if posterior.swap:
        draws = np.concatenate([draws, posterior.swap(draws)])  # only without order have the identities no boundary
    identities = stein(easier, draws, min(effective, len(draws)))
    seconds = time.perf_counter() - began
    print(
        f"{posterior.name}: d = {posterior.dimension}, R-hat {r_hat:.4f}, effective size {effective:,.0f}, "
        f"Stein {identities:.1f} standard errors, log Z {estimate:.3f} ± {error:.3f}, {seconds:.0f} s",
        flush=True,
    )
    if r_hat > MAX_R_HAT or effective < MIN_EFFECTIVE or identities > MAX_STEIN:
        raise RuntimeError(f"the reference of {posterior.name} is not good enough")
    if to_own:
        draws = to_own(draws)
    kept = draws[rng.permutation(len(draws))[:NUM_KEPT]]
    return {
        "draws": kept.astype(np.float32),
        "mean": draws.mean(axis=0),
        "cov": np.cov(draws.T),
        "log_evidence": np.array([estimate, error] if error < MAX_LOG_Z_ERROR else [np.nan, np.nan]),
        "checks": np.array([r_hat, effective, identities]),
    }


def good_reference(posterior: Posterior) -> dict[str, np.ndarray] | None:
    for num_samples in NUM_SAMPLES:
        try:
            return reference(posterior, num_samples)
        except RuntimeError as error:
            print(error, flush=True)
    return None


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    for name in sys.argv[1:] or NAMES:
        made = good_reference(find_posterior(name))
        if made is None:
            continue
        known = dict(np.load(FILE)) if FILE.exists() else {}
        known |= {f"{name}.{key}": value for key, value in made.items()}
        np.savez_compressed(FILE, **known)


if __name__ == "__main__":
    main()
