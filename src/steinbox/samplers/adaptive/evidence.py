r"""The log-evidence, from draws that taught their own density nothing.

The weights of all points are best for means and particles, but the points of early batches taught the densities of
later ones, by which they are weighted: these are too dense just there, and :math:`\sum_i w_i` is a little too low
(Cornuet et al., 2012). The draws of a batch, weighted only by the densities they were drawn from,

.. math:: \hat Z_b = \frac{1}{n_b} \sum_{i \in b} \frac{p(x_i)}{q_b(x_i)}, \qquad
          q_b = \frac{1}{n_b} \sum_{j \in b} n_j q_j,

have :math:`\mathrm{E}[\hat Z_b \mid q_b] = \int p`, since :math:`q_b` was decided before. The recent batches are
averaged, in proportion to their draws; earlier densities were worse (Owen & Zhou, 2021, show how little is lost).
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.initial import Initial
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive

_RECENT = 0.5  # of the points that the last batch was drawn from: batches that were drawn from fewer are not recent


def estimate_evidence(state: AdaptiveState, initial: Initial, min_power: float) -> tuple[float, float]:
    """The log-evidence and its standard error.

    It rests on the recent batches that were drawn when weights were even: when they had to be tempered to no less than
    ``min_power``. If there is none, it is that of all points, with an error of at least what the second half changed.
    """
    log_ratios = _fresh_log_ratios(state, initial, min_power)
    if not np.isfinite(log_ratios).any():
        variance = max(1 / state.effective_sample_size - 1 / len(state.archive), 0.0)
        change = state.log_evidence - state.path_at(0.5).log_evidence
        return state.log_evidence, float(np.sqrt(variance + change**2 + state.noise_error**2))
    top = log_ratios.max()
    ratios = np.exp(log_ratios - top)
    error = ratios.std() / ratios.mean() / np.sqrt(len(ratios))
    return float(top + np.log(ratios.mean())), float(np.hypot(error, state.noise_error))


def _fresh_log_ratios(state: AdaptiveState, initial: Initial, min_power: float) -> Array:
    """The logarithms of p / q_b, of the recent batches; points that came back late belong to theirs."""
    steps = {source.step for source in state.archive.sources if source.step > 0 and source.count > 0}
    known = {step: state.path[step - 1] for step in steps if state.path[step - 1].tempering >= min_power}
    last = max((milestone.num_points for milestone in known.values()), default=0)
    recent = [step for step, milestone in sorted(known.items()) if milestone.num_points >= _RECENT * last]
    return np.concatenate([np.empty(0), *(_log_ratios(state.archive, step, initial) for step in recent)])


def _log_ratios(archive: WeightedArchive, step: int, initial: Initial) -> Array:
    """Of all draws of a step: log-density minus that of what they were drawn from."""
    is_drawn = np.repeat([each.step == step for each in archive.sources], [each.count for each in archive.sources])
    points, log_total = archive.points[is_drawn], np.full(int(is_drawn.sum()), -np.inf)
    for source in archive.sources:
        if source.step == step:
            log_total = np.logaddexp(log_total, source.log_share(points, initial))
    return np.asarray(archive.log_prob[is_drawn] - (log_total - np.log(len(points))))
