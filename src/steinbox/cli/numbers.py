"""Results, diagnostics and comparisons as what JSON holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import steinbox as sb
from steinbox.run.summary import QUANTILES

if TYPE_CHECKING:
    from steinbox.diagnostics import Diagnostics
    from steinbox.run.compare import Comparison


def describe_result(result: sb.Result) -> dict[str, Any]:
    """The summary of a run."""
    table = result.summary()
    quantities = {
        name: {
            "mean": float(table.mean[k]),
            "mcse": float(table.mcse[k]),
            "sd": float(table.sd[k]),
            "quantiles": {str(q): float(table.quantiles[row, k]) for row, q in enumerate(QUANTILES)},
        }
        for k, name in enumerate(table.names)
    }
    return {
        "parameters": {name: quantities[name] for name in result.names},
        "derived": {name: quantities[name] for name in table.derived},
        "status": result.status.name,
        "warnings": list(result.warnings),
        "log_evidence": result.log_evidence,
        "log_evidence_error": result.log_evidence_error,
        "effective_sample_size": result.effective_sample_size,
        "pareto_shape": result.pareto_shape,
        "num_particles": len(result.particles),
        "num_evals": result.num_evals,
        "num_failures": result.num_failures,
        "failures": {kind: failure.count for kind, failure in result.failures.items()},
        "seed": result.seed,
        "config": result.config,
        "version": result.version,
    }


def describe_diagnostics(diagnostics: Diagnostics) -> dict[str, Any]:
    """How good particles are."""
    return {
        "num_points": diagnostics.num_points,
        "num_without_weight": diagnostics.num_without_weight,
        "effective_sample_size": diagnostics.effective_sample_size,
        "gf_ksd": diagnostics.gf_ksd.value,
        "p_value": diagnostics.goodness_of_fit.p_value,
        "spread": diagnostics.spread.tolist(),
        "spread_error": diagnostics.spread_error.tolist(),
        "warnings": list(diagnostics.warnings),
    }


def describe_comparison(comparison: Comparison) -> dict[str, Any]:
    """Where runs differ."""
    arrays = ("log_evidence", "log_evidence_error", "mean", "mean_error", "sd", "mmd", "mode_shares")
    return {
        "agrees": comparison.agrees,
        "disagreements": list(comparison.disagreements),
        "names": list(comparison.names),
        **{name: getattr(comparison, name).tolist() for name in arrays},
        "mmd_by_chance": float(comparison.mmd_by_chance),
    }
