"""Reasons not to trust the particles of a Stein sampler, from the last forces on them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.diagnostics.spread import mean_spread, stein_spread
from steinbox.numerics.weights import effective_sample_size
from steinbox.samplers.stein.rescue import is_hopeless

_MIN_SIZE_FRACTION = 0.1  # of the particles: an effective sample size of ρ/p below it
_MAX_FACTOR = 2.0  # of one parameter's variance over the target's, or of its inverse
_MAX_MEAN_FACTOR = 1.5  # the same on average over parameters, which is known better
_MIN_DEVIATIONS = 4.0  # standard errors by which the spread must differ from one
_MAX_SHARE_AWAY = 0.02  # of the particles, and one: exact draws of heavy tails have fewer so far out
_MAX_APPROXIMATION_ERROR = 0.2  # of the direction, relative to the larger of its two parts
_MAX_MISSED_SHARE = 0.2  # of the variance of log p, that a surrogate did not predict


def collect_warnings(
    particles: Array,
    log_prob: Array,
    weights: Array,
    score: Array,
    misprediction: float = 0.0,
    approximation_error: float = 0.0,
) -> Iterator[str]:
    """One sentence for every reason.

    Parameters
    ----------
    particles, score : (n, d) arrays
    log_prob : (n,) array
        Of the target.
    weights : (n,) array
        The particles' in the last move, which sum to one: equal, or ρ/p.
    misprediction : float
        The largest :func:`missed_share` of the surrogates at the target itself.
    approximation_error : float
        Of the direction, relative to the size of what it sums up.
    """
    inside = np.isfinite(log_prob)
    size, num_inside = effective_sample_size(weights), int(inside.sum())
    if size < _MIN_SIZE_FRACTION * num_inside:
        yield (
            f"The weights ρ/p of {num_inside} particles have an effective sample size of {size:.1f}: a few particles "
            "push all others. Give a surrogate that is closer to the target."
        )
    away = is_hopeless(log_prob)
    if away.sum() > max(1, _MAX_SHARE_AWAY * num_inside):
        yield (
            f"{away.sum()} of {num_inside} particles ran away: their log-density is far below that of the others. "
            "Leave them out, or allow more moves."
        )
    if misprediction > _MAX_MISSED_SHARE:
        yield (
            f"The surrogate missed {misprediction:.0%} of the variance of the log-density where the particles went "
            "next: its score may be as wrong. Allow more particles, or compare with sb.AdaptiveImportanceSampling()."
        )
    if not approximation_error <= _MAX_APPROXIMATION_ERROR:
        yield (
            f"The approximate direction was off by {approximation_error:.0%} of the forces that it sums up: the kernel "
            "is too narrow for so few random features, and the particles may follow their noise. Use a larger "
            'bandwidth such as bandwidth="median", more features, or exact sums (leave out direction=).'
        )
    yield from _spread_warning(particles, weights, score, inside & ~away)


def _spread_warning(particles: Array, weights: Array, score: Array, used: Mask) -> Iterator[str]:
    weights = weights[used] / max(float(weights[used].sum()), 1e-300)
    mean, mean_error = mean_spread(particles[used], weights, score[used])
    ratio, error = stein_spread(particles[used], weights, score[used])
    for word, sign, worst in (("narrower", -1, ratio.min()), ("wider", 1, ratio.max())):
        off = _is_off(mean, mean_error, sign, _MAX_MEAN_FACTOR) | _is_off(ratio, error, sign, _MAX_FACTOR)
        if off.any():
            yield (
                f"The particles are {word} than the target: by Stein's identity their variance is {mean:.2g} times "
                f"what it should be on average over parameters, and {worst:.2g} times for the one that is farthest "
                "off. Compare with sb.AdaptiveImportanceSampling()."
            )


def _is_off(ratio: Array | float, error: Array | float, sign: int, factor: float) -> Mask:
    """Whether a spread is below (sign −1) or above one by more than the factor, and than chance explains."""
    return np.asarray((sign * (ratio - factor**sign) > 0) & (sign * (ratio - 1) > _MIN_DEVIATIONS * error))


def missed_share(predicted: Array, log_prob: Array) -> float:
    """The mean squared error of predicted log-densities over the variance of the true ones, where both are known.

    Examples
    --------
    >>> missed_share(np.array([0.0, 1.0, np.nan]), np.array([0.0, 2.0, 5.0]))
    0.5
    """
    known = np.isfinite(predicted) & np.isfinite(log_prob)
    variance = float(np.var(log_prob[known])) if known.any() else 0.0
    if variance == 0:
        return 0.0
    return float(np.mean((predicted[known] - log_prob[known]) ** 2) / variance)
