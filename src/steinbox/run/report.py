"""A result as one HTML page: what is known of the run, collected for :mod:`steinbox.report`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from steinbox import baselines
from steinbox.numerics.weights import systematic_resample
from steinbox.report import Content, Fault, Table, render
from steinbox.run.report_plots import make_cloud, make_curves, make_way
from steinbox.run.status import Status
from steinbox.run.verdict import is_equally_weighted, judge, judge_unfinished

if TYPE_CHECKING:
    from steinbox.diagnostics import Diagnostics
    from steinbox.run.result import Result

_MAX_DIAGNOSED = 800  # particles: time grows as the cube
_MAX_TITLE_NAMES = 6
_NOT_JUDGED_YET = "The particles are assessed when the run has ended."


def write_report(result: Result, path: str | Path) -> Path:
    """Write the page; returns its path."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"expected a file name that ends in .html, got {path.name!r}")
    path.write_text(render(collect(result)), encoding="utf-8")
    return path


def collect(result: Result) -> Content:
    """What the page shows; of a run that goes on, without diagnostics, which take time."""
    is_running = result.status is Status.RUNNING
    diagnostics, words = (None, [_NOT_JUDGED_YET]) if is_running else _diagnose(result)
    num_particles, dimension = result.particles.shape
    return Content(
        title=f"{', '.join(result.names[:_MAX_TITLE_NAMES])}{', …' if dimension > _MAX_TITLE_NAMES else ''}",
        subtitle=(
            f"{result.config.get('method', '?')} · {num_particles:,} particles in {dimension} dimension"
            f"{'s' if dimension > 1 else ''} · {result.num_evals:,} evaluations · seed {result.seed} · "
            f"steinbox {result.version}"
        ),
        verdict=judge_unfinished(result) if is_running else judge(result, diagnostics),
        facts=list(_facts(result)),
        summary=_summarize(result),
        cloud=make_cloud(result),
        way=make_way(result),
        curves=make_curves(result.trace),
        diagnostics=words,
        faults=[
            Fault(kind, each.count, _point(result.names, each.point), each.message, each.traceback)
            for kind, each in result.failures.items()
        ],
        config=list(_flatten(result.config)),
        code=_code(result),
        is_running=is_running,
    )


def _diagnose(result: Result) -> tuple[Diagnostics | None, list[str]]:
    """The diagnostics, of some particles if there are very many, and what they say."""
    counts = np.flatnonzero(result.weights > 0)
    words = []
    if len(counts) > _MAX_DIAGNOSED:
        weights = result.weights / result.weights.sum()
        rows = systematic_resample(weights, _MAX_DIAGNOSED, np.random.default_rng(0))
        particles, log_prob = result.particles[rows], result.log_prob[rows]
        result = replace(result, particles=particles, log_prob=log_prob, weights=np.full(len(rows), 1 / len(rows)))
        words = [f"Of {_MAX_DIAGNOSED} of the {len(counts):,} particles:"]
    try:
        diagnostics = result.diagnostics()
    except (ValueError, np.linalg.LinAlgError) as error:
        return None, [f"The particles cannot be assessed: {error}"]
    return diagnostics, [*words, str(diagnostics), *diagnostics.warnings]


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    yield "evaluations", f"{result.num_evals:,}"
    yield "failed", f"{result.num_failures:,}"
    if not is_equally_weighted(result):
        yield "effective draws", f"{result.effective_sample_size:,.0f}"
    if np.isfinite(result.log_evidence):
        yield "log-evidence", _with_error(result.log_evidence, result.log_evidence_error)
    if np.isfinite(result.pareto_shape):
        yield "Pareto shape", f"{result.pareto_shape:.2f}"
    if result.coverage is not None:
        yield "places missed", f"{result.coverage.unseen:.1%}"
    if len(result.archive):
        yield "time in function", _duration(float(result.archive.seconds.sum()))


def _with_error(value: float, error: float) -> str:
    """A number with as many digits as its error allows.

    Examples
    --------
    >>> _with_error(-12.34567, 0.0123), _with_error(-12.34567, float("nan"))
    ('-12.346 ± 0.012', '-12.35')
    """
    if not (np.isfinite(error) and error > 0):
        return f"{value:.4g}"
    decimals = int(np.clip(1 - np.floor(np.log10(error)), 0, 9))
    return f"{value:.{decimals}f} ± {error:.2g}"


def _duration(seconds: float) -> str:
    """A time in its unit.

    Examples
    --------
    >>> _duration(0.00012), _duration(0.25), _duration(75.0)
    ('120 µs', '250 ms', '75 s')
    """
    unit, factor = next((each for each in (("s", 1.0), ("ms", 1e-3)) if seconds >= each[1]), ("µs", 1e-6))
    return f"{seconds / factor:.3g} {unit}"


def _summarize(result: Result) -> Table:
    """The summary's table, what is held, and what is too large for a row."""
    summary = result.summary()
    notes = summary.notes
    arrays = {name: values.shape[1:] for name, values in result.pool_derived.items() if values.ndim > 1}
    if arrays:
        listed = ", ".join(f"{name} {shape}" for name, shape in arrays.items())
        notes.append(f"Not shown, because they are arrays: {listed}. They are in result.derived.")
    if result.constants:
        notes.append(f"Fixed: {', '.join(f'{name} = {value}' for name, value in result.constants.items())}.")
    notes.append("mcse: Monte Carlo standard error of the mean; ess: independent draws with the same error.")
    if is_equally_weighted(result):
        notes.append("Both treat the particles as independent draws; if they were moved, both are rough estimates.")
    return Table(summary.columns, summary.rows, notes)


def _point(names: tuple[str, ...], point: tuple[float, ...]) -> str:
    if len(names) != len(point):
        return ", ".join(f"{value:.6g}" for value in point)
    return ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, point, strict=True))


def _flatten(tree: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings by their path.

    Examples
    --------
    >>> list(_flatten({"method": "SMC", "settings": {"name": "SMC", "step": 0.5}, "parts": [{"name": "A"}, 2]}))
    [('method', 'SMC'), ('settings', 'SMC'), ('settings.step', '0.5'), ('parts', 'A, 2')]
    """
    if not isinstance(tree, Mapping):
        yield prefix, ", ".join(map(_brief, tree)) if isinstance(tree, (list, tuple)) else str(tree)
        return
    if prefix:
        yield prefix, str(tree.get("name", ""))
    for name, value in tree.items():
        if not (prefix and name == "name"):
            yield from _flatten(value, f"{prefix}.{name}" if prefix else str(name))


def _brief(item: object) -> str:
    if not isinstance(item, Mapping):
        return str(item)
    settings = ", ".join(f"{key}={_brief(value)}" for key, value in item.items() if key != "name")
    return f"{item.get('name', '')}({settings})" if settings else str(item.get("name", item))


def _code(result: Result) -> str:
    """The call that repeats the run, as far as the result knows it."""
    method = str(result.config.get("method", "?"))
    where = "sb.baselines" if method in baselines.__all__ else "sb"
    lines = [
        "log_prob,  # your function",
        "initial,  # where it started",
        f"method={where}.{method}(),  # with the settings under Configuration, where they are not the defaults",
        f"num_particles={len(result.particles)},",
        f"max_evals={result.config.get('max_evals')},",
        f"names={list(result.names)!r},",
        "bounds=bounds,  # as you gave them" if result.bounds is not None else "",
        f"fixed={dict(result.constants)!r}," if result.constants else "",
        f"seed={result.seed},",
    ]
    call = "\n".join(f"    {line}" for line in lines if line)
    return (
        f'# pip install "steinbox=={result.version}"\nimport steinbox as sb\n\nresult = sb.sample(\n{call}\n)\n'
        'result.report("run.html")\n'
    )
