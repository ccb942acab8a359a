"""Why claimed errors of log Z are too small with few evaluations: the points that taught a proposal are weighted by it.

A run's log-evidence is compared with what its last proposal gives with draws of its own, which taught it nothing: with
many of them, and with sets as large as the run. If the proposal were too narrow, these would be too low as well.

Run ``python benchmarks/published/evidence_bias.py``; the table goes to ``benchmarks/results/published_bias.md``.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import warnings
from pathlib import Path

import numpy as np
from case import Case
from scipy.special import logsumexp
from suites import cases_of

import steinbox as sb

NAMES = ("lumpy-6", "lumpy-10", "student-6", "student-10", "cigar-6", "cigar-10")
NUM_SEEDS, NUM_SETS = 10, 60


def errors_of_log_z(case: Case, budget: int, seed: int) -> tuple[float, float, float, float]:
    """Of the run, what it claims, of all fresh draws of its last proposal, and the median over sets of them."""
    model = sb.Model(case.log_likelihood, prior=list(case.factors))
    result = sb.sample(model, max_evals=budget, vectorized=True, progress=False, seed=seed)
    assert result.mixture is not None
    fresh = result.mixture.sample(NUM_SETS * budget, np.random.default_rng([seed, 7]))
    log_weights = (case.log_joint(fresh) - result.mixture.log_prob(fresh)).reshape(NUM_SETS, budget)
    sets = logsumexp(log_weights, axis=1) - np.log(budget)
    everything = logsumexp(log_weights) - np.log(log_weights.size)
    estimates = result.log_evidence, everything, float(np.median(sets))
    own, all_fresh, set_fresh = (each - case.log_evidence for each in estimates)
    return own, result.log_evidence_error, all_fresh, set_fresh


def main() -> None:
    warnings.simplefilter("ignore")
    text = [
        f"`python benchmarks/published/evidence_bias.py`, {run.date.today()}; {run.version()}. Errors of log Z, means "
        f"over {NUM_SEEDS} runs.",
        "",
        "| target | evaluations | the run | its claimed error | fresh draws of its last proposal, "
        f"{NUM_SETS} times as many | as many (median of sets) |",
        "|---|---|---|---|---|---|",
    ]
    for name in NAMES:
        case = cases_of("vbmc")[name]
        budget = case.budgets[0]
        means = np.mean([errors_of_log_z(case, budget, seed) for seed in range(NUM_SEEDS)], axis=0)
        own, claimed, *fresh = means
        text.append(f"| {name} | {budget} | {own:+.3f} | {claimed:.3f} | {fresh[0]:+.3f} | {fresh[1]:+.3f} |")
        print(text[-1], flush=True)
    (Path(__file__).parent.parent / "results" / "published_bias.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
