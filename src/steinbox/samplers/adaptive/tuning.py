"""The numbers of the default sampler that one may want to change, in one place, each with its unit.

``AdaptiveImportanceSampling(tuning=Tuning(max_climb_fraction=0.2))`` changes one of them. "Ablation" is
``benchmarks/accuracy/ablation.py``; what has no other source was chosen on the problems of groups "tuning" and "seen".
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from steinbox.common.checks import is_number, require_count


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Settings of the parts of :class:`~steinbox.AdaptiveImportanceSampling`.

    Examples
    --------
    >>> import steinbox as sb
    >>> method = sb.AdaptiveImportanceSampling(tuning=sb.adaptive.Tuning(max_climb_fraction=0.3))
    """

    # -- batches
    batch_fraction: float = 1 / 50
    """Of the budget: a batch, between the limits below. Ablation: twice as much misses a mode of off_centre_modes10."""
    min_batch: int = 200
    """Evaluations (10 per dimension if that is more, but at most a sixth of the budget)."""
    max_batch: int = 2000
    """Evaluations, while weights are uneven."""
    growth: float = 0.25
    """Of all points so far: a batch, once weights are even (geometric growth keeps the number of fits small)."""
    num_first_parts: int = 4
    """Parts of the first batch, so that a run that is interrupted early has something to return."""
    min_first_part: int = 50
    """Evaluations of such a part, of which one must be inside the support; points that may teach anything, at least."""
    min_inside: int = 10
    """Points inside the support before anything is fitted."""

    # -- weights
    min_tempered_fraction: float = 0.05
    """Of all points: the effective sample size that weights are tempered to (at least 50, 5 d, a quarter batch)."""
    min_share: float = 0.1
    """Of a batch: what every proposer gets that shares it, whatever its draws have earned."""

    # -- stopping early
    draws_per_particle: float = 20.0
    """Effective sample size per particle from which more points do not change the particles (twice that with noise).

    From half of it on, a search for further modes comes first, and the archive is as good a pool as any surrogate's."""
    max_evidence_change: float = 0.05
    """Nats by which the last third of the points may have changed the log-evidence."""

    # -- climbs
    patience: float = 0.3
    """Of the budget: until then tempered weights may find the way, which lead to whole curves, if they seem to."""
    arrival_fraction: float = 0.35
    """Of the budget: to arrive, and to look elsewhere as long as there are few draws."""
    max_climb_fraction: float = 0.5
    """Of the budget: once several modes are known, or draws are worth one per particle."""
    min_excess: float = 5.0
    """Nats by which a point is denser than all that is known to begin a climb: a factor of 150."""
    scan_fraction: float = 0.08
    """Of the budget: scattered draws before the search for further modes, and when no maximum is left among them."""

    # -- few evaluations
    max_search_evals: int = 200
    """Evaluations: on development problems a surrogate was ahead with 200, not with 400, far behind with 1,000."""
    max_search_dimension: int = 12
    """Coordinates: with more, a quadratic has more coefficients than there are evaluations to spare."""
    max_prediction_error: float = 1.0
    """Nats: the median error of a surrogate's last predictions, or its own standard deviation where the particles
    would be, beyond which it is not to be trusted."""

    # -- refinement by a surrogate
    min_agreement: float = 0.95
    """Effective sample size per particle that p over prediction leaves, to take the refined particles as they are."""
    min_refinement_points: int = 40
    """Training points of the surrogate, at least."""
    max_refinement_points: int = 1500
    """Training points of the surrogate; the solve is cubic in their number."""

    # -- warnings
    min_draws_per_particle: float = 0.25
    """Effective sample size per particle: with less, 200 particles are twice as far off as 200 exact draws."""
    min_power: float = 0.9
    """Weights that must be tempered to a smaller power are too uneven."""
    max_evidence_rise: float = 0.3
    """Nats of log-evidence that the second half of the points may add."""
    min_draws_to_compare: float = 0.1
    """Effective sample size per particle of the earlier points that the later ones are compared with."""
    max_unseen: float = 0.05
    """Chance that a climb from an open place finds a mode, at which the search ends: 18 in a row have found nothing.

    Also the expected share of all places that lead to modes not seen, at which a run that found several warns."""
    max_pareto_shape: float = 0.7
    """Beyond, weights have practically no variance (Vehtari et al., 2024); it matters below 2 draws per particle."""

    def __post_init__(self) -> None:
        for each in fields(self):
            setting = getattr(self, each.name)
            for value in setting if isinstance(setting, tuple) else (setting,):
                if not (is_number(value) and value >= 0):
                    raise ValueError(f"expected {each.name} to be a number of at least 0, got {value!r}")
        for name in ("min_batch", "max_batch", "num_first_parts", "min_first_part"):
            require_count(name, getattr(self, name))
