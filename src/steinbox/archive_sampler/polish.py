r"""The polish: chosen particles moved by Stein's force, with the score of an interpolant of all log-densities.

Where few evaluations tell log p accurately, as near a Gaussian, a surrogate knows more than weights do: on it SVGD is
GF-SVGD with all weights one, and costs no evaluation. Where they do not, the polish is not begun; and it is undone if
the log-densities at the moved particles, which are paid for, are not those that the surrogate foretold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steinbox.archive_sampler.state import ArchiveState, Batch, Polish
from steinbox.evaluate import Evaluation
from steinbox.optimizers import Adam, CosineDecay
from steinbox.samplers.svgd import SVGD
from steinbox.surrogates import Interpolant
from steinbox.types import Array, IntegerArray
from steinbox.weights import normalize

_POOR = 2.0  # independent draws per particle: with more the weights know better
_ACCURATE, _STILL_ACCURATE = 0.05, 0.1  # nats: error of the surrogate at held-out points, and at the moved particles
_MOST_POINTS, _FEWEST_POINTS = 1200, 40
_STEPS = SVGD(num_iterations=50, optimizer=Adam(0.03, memory=0.99, decay=CosineDecay(start=0.0)))


def could_be_polished(state: ArchiveState) -> bool:
    """Whether the weighted points are worth so little that a surrogate may know more."""
    return state.polish is None and state.effective_size < _POOR * state.num_particles


def begin_polish(state: ArchiveState, particles: Array, rng: np.random.Generator) -> ArchiveState | None:
    """The state with moved particles to evaluate; None if the surrogate is not accurate where it was held out."""
    rows = rng.permutation(_known_best(state))
    if len(rows) < _FEWEST_POINTS:
        return None
    points, log_prob = state.ledger.points, state.ledger.log_prob
    held_out, kept = rows[: len(rows) // 4], rows[len(rows) // 4 :]
    surrogate = Interpolant().build(points[kept], log_prob[kept], len(kept))
    errors = surrogate.log_prob(points[held_out]) - log_prob[held_out]
    shares = normalize(state.ledger.log_weights[held_out])
    if not np.sqrt(shares @ errors**2) < _ACCURATE:
        return None
    surrogate = Interpolant().build(points[rows], log_prob[rows], len(rows))
    jitter = 1e-6 * particles.std(axis=0) * rng.standard_normal(particles.shape)
    moving = _STEPS.start(particles + jitter, (_STEPS.num_iterations or 1) * len(particles) * 2, rng)
    while not _STEPS.finished(moving):
        x = _STEPS.ask(moving, rng)
        known = Evaluation(surrogate.log_prob(x), np.zeros(len(x), dtype=bool), surrogate.score(x))
        moving, _ = _STEPS.tell(moving, x, known, rng)
    moved = moving.particles
    if not np.isfinite(moved).all():
        return None
    polish = Polish(moved, surrogate.log_prob(moved), is_good=False)
    return replace(state, polish=polish, next=Batch("polish", moved, (), ()))


def end_polish(state: ArchiveState, polish: Polish, evaluation: Evaluation) -> ArchiveState:
    """Kept if the surrogate foretold what was found, undone if not."""
    errors = evaluation.log_prob - polish.log_prob
    good = bool(np.isfinite(errors).all() and np.sqrt(np.mean(errors**2)) < _STILL_ACCURATE)
    polish = Polish(polish.points, evaluation.log_prob, is_good=good)
    return replace(state, polish=polish, next=Batch.nothing(polish.points.shape[1]))


def _known_best(state: ArchiveState) -> IntegerArray:
    """The heaviest points that hold nearly all weight."""
    log_weights = state.ledger.log_weights
    order = np.argsort(-log_weights, kind="stable")[:_MOST_POINTS]
    order = order[np.isfinite(log_weights[order])]
    covered = np.cumsum(normalize(log_weights[order]))
    return np.asarray(order[: max(_FEWEST_POINTS, int(np.searchsorted(covered, 0.9999)) + 1)])
