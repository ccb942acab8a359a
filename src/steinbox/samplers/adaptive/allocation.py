"""The one rule that shares out the draws of a batch: by what a draw has earned, with a floor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.density import Density
from steinbox.numerics.weights import normalize
from steinbox.samplers.adaptive.state import AdaptiveState, Batch
from steinbox.samplers.adaptive.weighted_archive import Source, finite_log_weights


def allocate(
    densities: Mapping[str, Density], shares: Mapping[str, float], num_points: int, rng: np.random.Generator
) -> Batch:
    """Draws of all densities, by their shares; the first gets what rounding leaves."""
    names = list(densities)
    relative = np.array([shares.get(name, 1 / len(names)) for name in names])
    counts = (relative / relative.sum() * num_points).astype(int)
    counts[0] = num_points - counts[1:].sum()
    draws = [densities[name].quasi_random(int(count), rng) for name, count in zip(names, counts, strict=True)]
    sources = tuple(Source(name, densities[name], int(count)) for name, count in zip(names, counts, strict=True))
    return Batch(np.concatenate(draws), sources, is_shared=True)


def update_shares(state: AdaptiveState, min_share: float) -> Mapping[str, float]:
    r"""The shares after a batch: half the old one, half what a draw has earned, its mean tempered weight,

    .. math:: s_k \leftarrow \tfrac12 \Big( s_k + \frac{\bar w_k}{\sum_l \bar w_l} \Big), \qquad s_k \ge s_{\min}.

    Nothing changes if a proposer had the batch for itself.
    """
    sources = state.archive.sources[-len(state.next.sources) :]
    counts = np.array([source.count for source in sources])
    if len(sources) < 2 or counts.min() == 0:
        return state.shares
    weights = normalize(state.tempering * finite_log_weights(state.archive.log_weights))
    parts = np.split(weights[-counts.sum() :], np.cumsum(counts)[:-1])
    earned = np.array([part.mean() for part in parts])
    names = [source.proposer for source in sources]
    old = np.array([state.shares.get(name, 1 / len(names)) for name in names])
    new = 0.5 * (old / old.sum() + earned / max(earned.sum(), 1e-300))
    return {**state.shares, **dict(zip(names, raise_to_floor(new, min_share).tolist(), strict=True))}


def raise_to_floor(shares: Array, floor: float) -> Array:
    """Shares that are all at least the floor (or equal, if they cannot be), the others scaled down to make room.

    Examples
    --------
    >>> import numpy as np
    >>> raise_to_floor(np.array([0.02, 0.58, 0.4]), 0.1).round(2)
    array([0.1 , 0.53, 0.37])
    """
    floor = min(floor, 1 / len(shares))
    is_low = shares < floor
    rest = 1 - floor * is_low.sum()
    return np.where(is_low, floor, shares * rest / max(shares[~is_low].sum(), 1e-300))
