r"""Fifty to six hundred evaluations: the default with a surrogate's search beside PyVBMC (Acerbi, 2018).

First, generated problems with one mode and standard ones, in 2 to 8 dimensions: MMD over the floor, that of 200 exact
draws. PyVBMC's plausible box is the mean of the start ± one standard deviation, and it begins at a point drawn from the
box; of what it returns, 200 draws are judged, five times. It may use 200 evaluations, and stops by itself before.

Then the targets of Acerbi (2018, section 4.1) in D = 2, 6 and 10 with 50 (D + 2) evaluations, started at their priors:

- the error of the log-evidence, whose goal is 1;
- GsKL, half the sum of the divergences of the Gaussians with the same moments, *per dimension*, whose goal is 1/8.

Rows go to ``benchmarks/results/few.csv``, and those that are there are not run again. PyVBMC is left out where it is
not installed. Run ``python benchmarks/accuracy/few.py``, with ``--methods pyvbmc`` for its rows.

References
----------
L. Acerbi (2018). Variational Bayesian Monte Carlo. *NeurIPS* 31.
"""

from __future__ import annotations

import run  # noqa: F401  # first: it sets the number of threads

# isort: split
import argparse
import csv
import importlib.util
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from measures import NUM_POINTS, floor, reference
from noisy import gaussian_divergence
from problems import PROBLEMS
from report import write
from scipy import integrate, stats
from scipy.special import logsumexp

import steinbox as sb

RESULTS = Path(__file__).parent.parent / "results"
NAMES = ("banana2", "generated10", "cubic_valley3", "generated30", "generated58", "dirichlet7", "student_t8")
BUDGETS = (60, 100, 200, 400)
VBMC_BUDGETS = (200,)  # it stops by itself before
FIRST_SEED, NUM_PUBLISHED_DRAWS = 100, 20_000
NUM_SETS = 5  # of points, over which the error of PyVBMC's draws is averaged
FIELDS = ("target", "method", "budget", "seed", "evals", "error", "divergence", "warnings", "seconds")
Row = dict[str, str]


@dataclass(frozen=True, eq=False)
class Published:
    """A target of the paper: the logarithm of prior times likelihood, the prior, and what is known exactly."""

    log_prob: Callable[[np.ndarray], np.ndarray]
    initial: sb.Gaussian
    log_evidence: float
    sample: Callable[[int, np.random.Generator], np.ndarray]


# -- the targets of the paper ------------------------------------------------------------------------------------------


def product(mean: np.ndarray, cov: np.ndarray, prior: sb.Gaussian) -> tuple[sb.Gaussian, float]:
    """The normalized product of two Gaussians, and the logarithm of its integral."""
    precision = np.linalg.inv(cov) + np.linalg.inv(prior.cov)
    both = np.linalg.inv(precision)
    center = both @ (np.linalg.solve(cov, mean) + np.linalg.solve(prior.cov, prior.mean))
    return sb.Gaussian(center, cov=0.5 * (both + both.T)), float(
        sb.Gaussian(mean, cov=cov + prior.cov).log_prob(prior.mean[None])[0]
    )


def lumpy(dimension: int) -> Published:
    """Twelve Gaussians, as the paper's code draws them."""
    stream = np.random.RandomState(5489).random_sample(12 * (dimension**2 - 1) + 24 * dimension + 12)
    stream = stream[12 * (dimension**2 - 1) :]
    means = stream[: 12 * dimension].reshape(dimension, 12).T
    rows = stream[12 * dimension : 24 * dimension].reshape(12, dimension)
    stds = np.linspace(0.2, 0.6, dimension)[np.argsort(rows, axis=1)]
    weights = -np.log(stream[24 * dimension :])
    weights /= weights.sum()
    prior = sb.Gaussian(np.full(dimension, 0.5), std=1.5)
    parts = [sb.Gaussian(mean, cov=np.diag(std**2)) for mean, std in zip(means, stds, strict=True)]
    products = [product(part.mean, part.cov, prior) for part in parts]
    masses = np.log(weights) + [mass for _, mass in products]
    posterior = sb.GaussianMixture([each for each, _ in products], np.exp(masses - logsumexp(masses)))

    def log_prob(x: np.ndarray) -> np.ndarray:
        likelihood = logsumexp([part.log_prob(x) for part in parts], axis=0, b=weights[:, None])
        return likelihood + prior.log_prob(x)

    return Published(log_prob, prior, float(logsumexp(masses)), posterior.sample)


STUDENT = {  # locations, scales
    2: ("2.58778 4.42535", "3.27309 5.63978"),
    6: ("4.87741 1.04667 .81348 1.83618 1.35107 .89623", ".26750 1.60695 1.27718 .15188 1.84470 3.05190"),
    10: (
        "3.17899 1.66306 .55380 3.54263 1.49940 1.29420 .20924 .98371 3.73271 .77912",
        "1.20877 .61965 .99559 .88749 .65486 .44821 .58513 2.73369 .38575 6.35615",
    ),
}
CIGAR = {
    2: ".89851 .43895",
    6: "-.17720 -.82003 .30865 .34604 -.20447 -.19833",
    10: "-.27125 .09312 .01697 -.20794 .41411 .01506 -.20447 -.12540 .55043 .58481",
}


def student(dimension: int) -> Published:
    """Independent t distributions."""
    center, scale = (np.array(text.split(), dtype=float) for text in STUDENT[dimension])
    dof = 2 + np.arange(1, dimension + 1) / 2
    prior = sb.Gaussian(np.zeros(dimension), std=1 + 2 * scale * np.sqrt(dof / (dof - 2)))
    widths = np.sqrt(np.diag(prior.cov))

    def log_prob(x: np.ndarray) -> np.ndarray:
        return stats.t.logpdf(x, dof, center, scale).sum(axis=1) + prior.log_prob(x)

    def factor(k: int) -> Callable[[float], float]:
        return lambda x: stats.t.pdf(x, dof[k], center[k], scale[k]) * stats.norm.pdf(x, 0, widths[k])

    masses = [integrate.quad(factor(k), -np.inf, np.inf, epsabs=1e-13, limit=500)[0] for k in range(dimension)]

    def sample(num_points: int, rng: np.random.Generator) -> np.ndarray:
        mesh = np.linspace(-8 * widths, 8 * widths, 40_001)
        density = stats.t.pdf(mesh, dof, center, scale) * stats.norm.pdf(mesh, 0, widths)
        shares = np.cumsum(density, axis=0) / density.sum(axis=0)
        draws = [np.interp(rng.random(num_points), shares[:, k], mesh[:, k]) for k in range(dimension)]
        return np.column_stack(draws)

    return Published(log_prob, prior, float(np.log(masses).sum()), sample)


def cigar(dimension: int) -> Published:
    """A Gaussian a hundred times as long as wide, in no axis's direction."""
    axis = np.array(CIGAR[dimension].split(), dtype=float)
    likelihood = sb.Gaussian(np.linspace(-1, 1, dimension), cov=np.eye(dimension) + 9999 * np.outer(axis, axis))
    prior = sb.Gaussian(np.zeros(dimension), std=1 + 2 * np.sqrt(1 + 9999 * axis**2))
    posterior, mass = product(likelihood.mean, likelihood.cov, prior)
    return Published(lambda x: likelihood.log_prob(x) + prior.log_prob(x), prior, mass, posterior.sample)


PUBLISHED = {
    f"{make.__name__}{dimension}": (make, dimension) for make in (lumpy, student, cigar) for dimension in (2, 6, 10)
}


SEARCH = sb.AdaptiveImportanceSampling(proposers=(sb.adaptive.SurrogateSearch(), *sb.adaptive.DEFAULT_PROPOSERS))
# -- runs --------------------------------------------------------------------------------------------------------------


def run_pyvbmc(log_prob: Callable, initial: sb.Gaussian, budget: int, seed: int) -> tuple[np.ndarray, int]:
    """Draws of what it returns, five times as many as are judged at once, and its evaluations."""
    from pyvbmc import VBMC

    logging.disable(logging.CRITICAL)
    center, width, count = np.asarray(initial.mean), np.sqrt(np.diag(initial.cov)), [0]

    def counted(x: np.ndarray) -> float:
        count[0] += 1
        return float(log_prob(np.atleast_2d(x))[0])

    infinite, low, high = np.full((1, len(center)), np.inf), (center - width)[None], (center + width)[None]
    start = np.random.default_rng(seed).uniform(low[0], high[0])[None]
    options = {"display": "off", "plot": False, "max_fun_evals": budget}
    posterior, _ = VBMC(counted, start, -infinite, infinite, low, high, options=options, seed=seed).optimize()
    return posterior.sample(NUM_SETS * NUM_POINTS)[0], count[0]


def outcome(name: str, method: str, budget: int, seed: int) -> Row:
    """One run: MMD over the floor, or for the paper's targets the error of the log-evidence and GsKL."""
    target = PUBLISHED[name][0](PUBLISHED[name][1]) if name in PUBLISHED else PROBLEMS[name]
    begun, num_warnings, divergence = time.process_time(), 0, np.nan
    if method == "pyvbmc":
        draws, evals = run_pyvbmc(target.log_prob, target.initial, budget, seed)
        error = np.mean([reference(name).mmd(draws[k::NUM_SETS]) / floor(name) for k in range(NUM_SETS)])
    else:
        settings = {
            "method": SEARCH,
            "num_particles": NUM_POINTS,
            "max_evals": budget,
            "vectorized": True,
            "progress": False,
        }
        result = sb.sample(target.log_prob, target.initial, seed=seed, **settings)
        evals, num_warnings = result.num_evals, len(result.warnings)
        if name in PUBLISHED:
            exact = target.sample(NUM_PUBLISHED_DRAWS, np.random.default_rng(1))
            error = abs(result.log_evidence - target.log_evidence)
            divergence = gaussian_divergence(result.pool, result.pool_weights, exact)
        else:
            error = reference(name).mmd(result.particles) / floor(name)
    seconds = time.process_time() - begun
    values = (name, method, budget, seed, evals, f"{error:.4f}", f"{divergence:.4f}", num_warnings, f"{seconds:.1f}")
    return dict(zip(FIELDS, map(str, values), strict=True))


def plan(methods: list[str], num_seeds: int) -> Iterator[tuple[str, str, int, int]]:
    for seed in range(FIRST_SEED, FIRST_SEED + num_seeds):
        for method in methods:
            for name in NAMES:
                for budget in BUDGETS if method == "default" else VBMC_BUDGETS:
                    yield name, method, budget, seed
            for name, (_, dimension) in PUBLISHED.items() if method == "default" else ():
                yield name, method, 50 * (dimension + 2), seed


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def run_missing(path: Path, methods: list[str], num_seeds: int) -> None:
    known = {tuple(row[field] for field in FIELDS[:4]) for row in read(path)}
    for case in plan(methods, num_seeds):
        if tuple(map(str, case)) not in known:
            row = outcome(*case)
            print(row, flush=True)
            is_new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if is_new:
                    writer.writeheader()
                writer.writerow(row)


# -- tables ------------------------------------------------------------------------------------------------------------


def find(rows: list[Row], name: str, method: str, budget: int) -> list[Row]:
    return [row for row in rows if (row["target"], row["method"], row["budget"]) == (name, method, str(budget))]


def mean_error(rows: list[Row]) -> str:
    """The geometric mean over seeds."""
    return f"{np.exp(np.mean([np.log(float(row['error'])) for row in rows])):.2f}" if rows else "–"


def lines(rows: list[Row]) -> Iterator[str]:
    yield "| problem | d | " + " | ".join(f"{budget:,}" for budget in BUDGETS) + " | PyVBMC | its evaluations |"
    yield "|---|---|" + "---|" * len(BUDGETS) + "---|---|"
    for name in NAMES:
        cells = [mean_error(find(rows, name, "default", budget)) for budget in BUDGETS]
        theirs = find(rows, name, "pyvbmc", VBMC_BUDGETS[-1])
        evals = ", ".join(row["evals"] for row in theirs) or "not run"
        yield f"| {name} | {PROBLEMS[name].dimension} | {' | '.join(cells)} | {mean_error(theirs)} | {evals} |"


def published_lines(rows: list[Row]) -> Iterator[str]:
    yield "| target | evaluations | error of the log-evidence | GsKL | within both goals | warned |"
    yield "|---|---|---|---|---|---|"
    for name, (_, dimension) in PUBLISHED.items():
        budget = 50 * (dimension + 2)
        mine = find(rows, name, "default", budget)
        errors, divergences = (np.array([float(row[key]) for row in mine]) for key in ("error", "divergence"))
        within = int(((errors < 1) & (divergences < 0.125)).sum())
        warned = sum(int(row["warnings"]) > 0 for row in mine)
        yield (
            f"| {name} | {budget} | {np.median(errors):.2f} | {np.median(divergences):.3f} | {within} of {len(mine)} | "
            f"{warned} of {len(mine)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=("default", "pyvbmc"), default=["default"])
    parser.add_argument("--output", type=Path, default=RESULTS / "few.csv")
    arguments = parser.parse_args()
    if "pyvbmc" in arguments.methods and importlib.util.find_spec("pyvbmc") is None:
        print("PyVBMC is left out: it is not installed (pip install pyvbmc)")
        arguments.methods.remove("pyvbmc")
    run_missing(arguments.output, arguments.methods, arguments.seeds)
    rows = read(arguments.output)
    text = [
        f"`python benchmarks/accuracy/few.py --seeds {arguments.seeds}`, {date.today()}; steinbox {sb.__version__}. "
        "MMD over that of 200 exact draws, by number of evaluations; geometric means over seeds.",
        "",
        *lines(rows),
        "",
        "Targets of Acerbi (2018), 50 (D + 2) evaluations; medians over seeds. Goals: 1 and 0.125.",
        "",
        *published_lines(rows),
    ]
    print("\n".join(text))
    write("few", text)


if __name__ == "__main__":
    main()
