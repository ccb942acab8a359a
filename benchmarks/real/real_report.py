"""Tables of the default and its peers on real posteriors, from ``benchmarks/results/real/real.csv``.

They go to ``benchmarks/results/real_<name>.md``, and ``docs/tables.py`` puts them on the page.

Run ``python benchmarks/real/real_report.py``, then ``python docs/tables.py``.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent.parent / "published"))

from posteriors import NAMES, find_posterior
from rows import Cell, Cells, Row, cells_of, read

RESULTS, PEERS = (Path(__file__).parent.parent / name for name in ("results", "peers"))
MAX_MMD, MAX_SD_ERROR = 2.0, 0.15
NORMAL_90 = 1.645
DEFAULT, BUDGET = "default", 20_000  # of the table with peers
LABELS = {
    "default": "**steinbox**",
    "pymc_smc": "PyMC SMC",
    "ultranest": "UltraNest",
    "pocomc": "pocoMC",
    "pyvbmc": "PyVBMC",
    "evosax": "evosax SV-CMA-ES",
    "tempest": "Tempest",
    "blackjax": "BlackJAX SMC",
}
EMPTY = Cell((), ())


def main() -> None:
    for name, lines in tables(RESULTS / "real").items():
        path = RESULTS / f"real_{name}.md"
        path.write_text("\n".join(lines) + "\n")
        print(f"wrote {path.name}")


def tables(folder: Path) -> dict[str, list[str]]:
    rows = read(folder / "real.csv")
    own = [row for row in rows if row["method"] == DEFAULT]
    cells, seeds = cells_of(rows), {int(row["seed"]) for row in own}
    compared = [row for row in rows if int(row["budget"]) == BUDGET]
    others = sorted({row["method"] for row in rows} - {DEFAULT})
    methods = [DEFAULT, *(method for method in others if is_complete(of_method(compared, method), seeds))]
    of_methods = [row for row in compared if row["method"] in methods]
    with_peers = cells_of(of_methods)
    above = f"Seeds {', '.join(map(str, sorted(seeds)))} of every method. {versions(of_methods)}"
    return {
        "models": list(model_table()),
        "says": list(sentences(own)),
        "default": [heading(own), "", *default_table(cells)],
        "wrong": [heading(own), "", *wrong_table(own)],
        "peers": [above, "", *peer_table(with_peers, methods)],
        "calls": list(call_table(methods)),
        "summary": [above, "", *summary_table(with_peers, methods)],
        "left_out": list(left_out_table(compared, [method for method in others if method not in methods])),
    }


def of_method(rows: list[Row], method: str) -> list[Row]:
    return [row for row in rows if row["method"] == method]


def is_complete(rows: list[Row], seeds: set[int]) -> bool:
    """Whether a method has a row for each of the seeds on every model that it was run on."""
    models = {row["case"] for row in rows}
    return {(row["case"], int(row["seed"])) for row in rows} >= {(model, seed) for model in models for seed in seeds}


def heading(rows: list[Row]) -> str:
    return f"`make bench-real`, {when(rows)}; {'; '.join(sorted({row['version'] for row in rows}))}."


def versions(rows: list[Row]) -> str:
    """Of the peers: what stands before steinbox in a row's version."""
    packages = {each for row in rows for each in row["version"].partition("steinbox")[0].split(", ")}
    peers = sorted(packages - {""})
    return f"`make bench-peers`, {when(rows)}; {', '.join(peers)}."


def when(rows: list[Row]) -> str:
    dates = sorted({row["date"] for row in rows})
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def is_wrong(row: Row) -> bool:
    return float(row["mmd_over_floor"]) > MAX_MMD or float(row["sd_worst"]) > MAX_SD_ERROR


def is_warned(row: Row) -> bool:
    return int(row["warnings"] or 0) > 0


def overhead(row: Row) -> float:
    """Processor seconds outside the density."""
    return float(row["cpu_seconds"]) - float(row["density_seconds"])


def model_table() -> Iterator[str]:
    yield "| name | d | what it is |"
    yield "|---" * 3 + "|"
    for name in NAMES:
        posterior = find_posterior(name)
        yield f"| {name} | {posterior.dimension} | {posterior.about} |"


def sentences(rows: list[Row]) -> Iterator[str]:
    """What the rows of the default say, in a line for each budget."""
    for budget in sorted({int(row["budget"]) for row in rows}, reverse=True):
        some = [row for row in rows if int(row["budget"]) == budget]
        wrong = [row for row in some if is_wrong(row)]
        num_silent = sum(not is_warned(row) for row in wrong)
        num_cautious = sum(is_warned(row) and not is_wrong(row) for row in some)
        wrong_names = sorted({row["case"] for row in wrong})
        num_models = len({row["case"] for row in some})
        scores = np.array([float(row["log_z_score"]) for row in some])
        scores = scores[~np.isnan(scores)]
        num_within, num_low = int((np.abs(scores) < NORMAL_90).sum()), int((scores < 0).sum())
        yield (
            f"- **{budget:,} evaluations**: right in all runs on {num_models - len(wrong_names)} of {num_models} "
            f"models; {len(wrong)} of {len(some)} runs are wrong ({', '.join(wrong_names)}), {num_silent} of them "
            f"without a warning; {num_cautious} that are right warn. 90% intervals of log Z hold the truth in "
            f"{num_within} of {len(scores)} runs; it is too low in {num_low}."
        )


def default_table(cells: Cells) -> Iterator[str]:
    yield (
        "| model | d | evaluations | MMD / floor | mean, worst | sd, worst | log Z error (claimed) | wrong "
        "| warned | seconds | runs |"
    )
    yield "|---" * 11 + "|"
    for name in NAMES:
        for budget in sorted({key[2] for key in cells if key[:2] == (name, DEFAULT)}):
            cell = cells[name, DEFAULT, budget]
            yield default_line(name, budget, cell)


def default_line(name: str, budget: int, cell: Cell) -> str:
    used = float(np.median(cell.values("evaluations")))
    evals = f"{budget:,}" if used >= budget else f"{budget:,} (used {used:,.0f})"
    numbers = " | ".join(with_range(cell.values(each)) for each in ("mmd_over_floor", "mean_worst", "sd_worst"))
    log_z = "unknown"
    if not np.isnan(cell.values("log_z_error")).all():
        log_z = f"{cell.median('log_z_error'):.2g} ({cell.median('log_z_claimed'):.2g})"
    wrong = [row for row in cell.rows if is_wrong(row)]
    silent = sum(not is_warned(row) for row in wrong)
    said = f"**{len(wrong)}** ({silent} silent)" if wrong else "0"
    seconds = np.median([overhead(row) for row in cell.rows])
    warned, dimension = sum(is_warned(row) for row in cell.rows), find_posterior(name).dimension
    return (
        f"| {name} | {dimension} | {evals} | {numbers} | {log_z} | {said} | {warned} | {seconds:.1f} "
        f"| {len(cell.rows)} |"
    )


def with_range(values: np.ndarray) -> str:
    return f"{np.median(values):.2g} [{values.min():.2g}, {values.max():.2g}]"


def wrong_table(rows: list[Row]) -> Iterator[str]:
    """Each wrong run of the default."""
    yield "| model | evaluations | seed | MMD / floor | mean, worst | sd, worst | log Z error (claimed) | |"
    yield "|---" * 8 + "|"
    for name in NAMES:
        of_name = [row for row in rows if row["case"] == name and not row["error"] and is_wrong(row)]
        for row in sorted(of_name, key=lambda row: (int(row["budget"]), int(row["seed"]))):
            numbers = " | ".join(f"{float(row[each]):.2g}" for each in ("mmd_over_floor", "mean_worst", "sd_worst"))
            log_z = f"{float(row['log_z_error']):+.2g} ({float(row['log_z_claimed']):.2g})".replace("+nan", "unknown")
            verdict = "warned" if is_warned(row) else "**silent**"
            yield f"| {name} | {int(row['budget']):,} | {row['seed']} | {numbers} | {log_z} | {verdict} |"


def call_table(methods: list[str]) -> Iterator[str]:
    """What the modules of the peers say of themselves."""
    yield "| method | how it is called |"
    yield "|---|---|"
    yield "| **steinbox** | `sb.sample(log_prob, start, max_evals=budget, vectorized=True)` |"
    for method in methods:
        path = PEERS / method / f"with_{method}.py"
        if path.exists():
            text = " ".join(ast.get_docstring(ast.parse(path.read_text())).split()).replace("``", "`")
            _, _, said = text.partition(": ")
            yield f"| {LABELS.get(method, method)} | {said} |"


def peer_table(cells: Cells, methods: list[str]) -> Iterator[str]:
    yield "| model | " + " | ".join(LABELS.get(method, method) for method in methods) + " |"
    yield "|---" * (len(methods) + 1) + "|"
    for name in NAMES:
        of_model = [cells.get((name, method, BUDGET), EMPTY) for method in methods]
        most = max(len(cell.rows) for cell in of_model)
        shown = [peer_cell(cell, most) for cell in of_model]
        yield f"| {name} | " + " | ".join(shown) + " |"


def peer_cell(cell: Cell, num_runs: int) -> str:
    """Medians of MMD over floor / worst error of an sd, bold where no run is wrong; or why there are none."""
    if not cell.rows:
        return "; ".join(dict.fromkeys(map(reason, cell.failures))) or "not run"
    numbers = f"{cell.median('mmd_over_floor'):.2g} / {cell.median('sd_worst'):.2g}"
    failed = f", {len(cell.failures)} failed" if cell.failures else ""
    if len(cell.rows) + len(cell.failures) < num_runs:
        failed += f" ({len(cell.rows)} of {num_runs} runs)"
    is_right = not failed and not any(is_wrong(row) for row in cell.rows)
    return (f"**{numbers}**" if is_right else numbers) + failed


def reason(error: str) -> str:
    if error.startswith("no end after"):
        return error.removesuffix(" of processor time")
    return "no end within the budget" if error.startswith("BudgetSpent") else f"failed ({error.partition(':')[0]})"


def left_out_table(rows: list[Row], methods: list[str]) -> Iterator[str]:
    """What is known of methods that were not run with every seed."""
    if not methods:
        yield "None."
        return
    yield "| method | models | runs | ended | right | why others did not end |"
    yield "|---" * 6 + "|"
    for method in methods:
        some = of_method(rows, method)
        ended = [row for row in some if not row["error"]]
        num_right = sum(not is_wrong(row) for row in ended)
        reasons = Counter(reason(row["error"]) for row in some if row["error"])
        yield (
            f"| {LABELS.get(method, method)} | {len({row['case'] for row in some})} | {len(some)} | {len(ended)} "
            f"| {num_right} | {'; '.join(f'{why} ({count})' for why, count in reasons.most_common())} |"
        )


def summary_table(cells: Cells, methods: list[str]) -> Iterator[str]:
    yield "| method | right runs | wrong | failed | MMD / floor, geometric mean | sd, worst, median | seconds, median |"
    yield "|---" * 7 + "|"
    for method in methods:
        of_models = [cells.get((name, method, BUDGET), EMPTY) for name in NAMES]
        rows = [row for cell in of_models for row in cell.rows]
        failed, wrong = sum(len(cell.failures) for cell in of_models), sum(map(is_wrong, rows))
        mmd = np.exp(np.mean([np.log(float(row["mmd_over_floor"])) for row in rows])) if rows else np.nan
        sd = np.median([float(row["sd_worst"]) for row in rows]) if rows else np.nan
        seconds = np.median([overhead(row) for row in rows]) if rows else np.nan
        yield (
            f"| {LABELS.get(method, method)} | {len(rows) - wrong} of {len(rows) + failed} | {wrong} | {failed} "
            f"| {mmd:.2g} | {sd:.2g} | {seconds:.2g} |"
        )


if __name__ == "__main__":
    main()
