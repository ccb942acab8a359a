"""Where a run of the default is wrong: quantiles of its worst parameter beside those of the reference.

Run ``python benchmarks/real/worst_parameter.py``; the table goes to ``benchmarks/results/real_worst.md``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent.parent / "published"))

from measures import Truth
from real_cases import case_of
from real_report import RESULTS

import steinbox as sb

NAMES, BUDGET, SEED = ("centred_dyestuff", "centred_smoking"), 20_000, 0
LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def lines(name: str) -> list[str]:
    """Of the reference and of the run."""
    case = case_of(name)
    truth = Truth.of(case)
    result = sb.sample(
        case.log_likelihood, list(case.factors), max_evals=BUDGET, vectorized=True, progress=False, seed=SEED
    )
    errors = np.sqrt(np.diag(result.cov)) / truth.sd - 1
    j = int(np.abs(errors).argmax())
    exact = np.quantile(truth.draws[:, j], LEVELS)
    found = np.quantile(result.pool[:, j], LEVELS, weights=result.pool_weights, method="inverted_cdf")
    size, shape = result.effective_sample_size, result.pareto_shape
    return [
        f"| {name}, x{j} | reference | {_numbers(exact)} | | | |",
        f"| | default, seed {SEED} | {_numbers(found)} | {errors[j]:+.0%} | {size:,.0f} | {shape:.2f} |",
    ]


def _numbers(values: np.ndarray) -> str:
    return " | ".join(f"{value:.1f}" for value in values)


def main() -> None:
    warnings.simplefilter("ignore")
    levels = " | ".join(f"{level:.0%}" for level in LEVELS)
    text = [
        f"`python benchmarks/real/worst_parameter.py`, {BUDGET:,} evaluations.",
        "",
        f"| worst parameter | | {levels} | sd off by | effective size | Pareto shape |",
        "|---" * (len(LEVELS) + 5) + "|",
        *(line for name in NAMES for line in lines(name)),
    ]
    (RESULTS / "real_worst.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
