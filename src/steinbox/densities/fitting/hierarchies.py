r"""Hierarchies found in weighted points: which coordinates are effects of a group, and what the data say of them.

**Which.** A coordinate is a log-scale if it predicts how large the residuals of two or more others are, given a line of
all the rest. Their location is the coordinate, or the constant, that they are closest to where the scale is small: that
with the least :math:`\sum_k \log \operatorname{Var}\big((x_k - x_a)\, e^{-\lambda x_b}\big)`.

**How.** The logarithm of the factor of the group's precision, N(0, 1), and the value and the precision of the data are
those of the largest posterior density, for all effects at once by Fisher's scoring. An effect stays in the group if it
gains by it in comparison with a line, and the group whose members gain most comes first.

What is found is exact where there is a hierarchy, so that it holds in the neck of the funnel, where no point was, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, IntegerArray, Mask
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.maps.hierarchical import HierarchicalMap

_SLOPES = (1.0, 0.5, -0.5)  # of the log-scale: its coordinate is the logarithm of a deviation, a variance, a precision
_MIN_EFFECTS = 2  # of a group
_NUM_SCALES = 2  # coordinates that are looked at: those that predict most clearly
_NARROW_SHARE = 1 / 3  # of the weight: the points with the smallest scales
_MAX_POINTS = 700  # to look at
_MAX_LOG_SCALE = 50.0  # of any point: a coordinate with larger numbers is no log-scale
_NUM_STEPS = 12
_MAX_STEP = 2.0  # of a logarithm, or in units of the effects
_MAX_LOG_RATIO = 14.0  # of a precision to one over an effect's variance: a factor of a million
_RIDGE = 1e-6  # of the information


def fit_hierarchical_map(sample: WeightedPoints) -> HierarchicalMap | None:
    """The map to standardized effects; None if there are none.

    Examples
    --------
    Four effects around coordinate 4, with scales whose logarithm is coordinate 5:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mean, log_scale = rng.standard_normal((2, 1000, 1))
    >>> effects = mean + np.exp(log_scale) * rng.standard_normal((1000, 4))
    >>> sample = WeightedPoints(np.hstack([effects, mean, log_scale]), np.full(1000, 1e-3), 1000)
    >>> map_ = fit_hierarchical_map(sample)
    >>> map_.effects, map_.locations, map_.scales, map_.slopes
    (array([0, 1, 2, 3]), array([4, 4, 4, 4]), array([5, 5, 5, 5]), array([1., 1., 1., 1.]))
    >>> bool((map_.log_precisions < -4).all())  # there are no data
    True
    """
    stride = -(-len(sample.points) // _MAX_POINTS)
    sample = sample.part(np.arange(0, len(sample.points), stride), 1 / stride)
    signals, groups = _scale_signals(sample), list[_Group]()
    while (best := _find_group(sample, signals, groups)) is not None:
        groups = [*(each.without(best.map.effects) for each in groups), best]
    return HierarchicalMap.join([each.map for each in groups]) if groups else None


# -- which coordinates -------------------------------------------------------------------------------------------------


def _scale_signals(sample: WeightedPoints) -> Array:
    """How clearly each coordinate (columns) predicts the residuals' size of each (rows), in standard errors."""
    z = sample.points - sample.weights @ sample.points
    z /= np.sqrt(sample.weights @ z**2) + 1e-300
    correlations = (z * sample.weights[:, None]).T @ z + np.eye(z.shape[1]) / sample.effective_sample_size
    squares = (z @ np.linalg.inv(correlations)) ** 2  # of what a line of all others leaves, but for a factor
    sizes = np.log(squares / (sample.weights @ squares + 1e-300) + 1e-3)
    sizes -= sample.weights @ sizes
    sizes /= np.sqrt(sample.weights @ sizes**2) + 1e-300
    signals = np.sqrt(sample.effective_sample_size) * (sizes * sample.weights[:, None]).T @ z
    np.fill_diagonal(signals, 0.0)
    return np.asarray(signals)


@dataclass(frozen=True, eq=False)
class _Group:
    """The map of effects that share a location and a scale, and the nats per point that each gains."""

    map: HierarchicalMap
    gains: Array

    def take(self, rows: Mask) -> _Group:
        """Some of the effects."""
        return _Group(self.map.take(rows), self.gains[rows])

    def without(self, effects: IntegerArray) -> _Group:
        """The other effects."""
        return self.take(~np.isin(self.map.effects, effects))


def _find_group(sample: WeightedPoints, signals: Array, groups: list[_Group]) -> _Group | None:
    """One more, whose effects gain most; no effect is in two groups or leads one, and no scale leads two.

    Two signals that are beyond half the square of the universal threshold are as unlikely as one beyond it.
    """
    dimension = len(signals)
    least = np.full(dimension, 1 / sample.effective_sample_size)  # of what an effect has to gain: more than before
    is_new, may_lead = np.ones((2, dimension), dtype=bool)
    for known in groups:
        leads = [*known.map.scales, *known.map.locations[known.map.locations >= 0]]
        least[known.map.effects], least[leads] = np.maximum(known.gains, least[0]), np.inf
        is_new[[*known.map.effects, *leads]] = may_lead[[*known.map.effects, *known.map.scales]] = False
    may_scale = may_lead & (np.abs(sample.points).max(axis=0) < _MAX_LOG_SCALE)
    signs = np.array([1.0, -1.0])
    is_shown = (signs[:, None, None] * signals > np.sqrt(np.log(signals.size))) & is_new[:, None] & may_scale
    is_shown &= (is_shown.sum(axis=1) >= _MIN_EFFECTS)[:, None]
    clarity = np.where(is_shown, np.abs(signals), 0.0).sum(axis=1)
    candidates = list[_Group]()
    for each in np.argsort(-clarity, axis=None)[:_NUM_SCALES]:
        row, scale = divmod(int(each), dimension)
        if clarity[row, scale] > 0:
            shown = np.flatnonzero(is_shown[row, :, scale])
            candidates.append(_best_group(sample, scale, signs[row], shown, least, may_lead))
    best = max(candidates, key=lambda each: each.gains.sum(), default=None)
    return None if best is None or len(best.gains) < _MIN_EFFECTS else best


def _best_group(
    sample: WeightedPoints, scale: int, sign: float, shown: IntegerArray, least: Array, may_lead: Mask
) -> _Group:
    """Of this scale, with the slope and the location that are best for the effects that showed it."""
    groups = list[_Group]()
    for slope in [each for each in _SLOPES if each * sign > 0]:
        for location in (_closest_to(shown, sample, scale, slope, may_lead), -1):
            effects = np.setdiff1d(np.flatnonzero(np.isfinite(least)), [scale, location])
            groups.append(_fit_group(sample, effects, location, scale, slope))
    best = max(groups, key=lambda each: each.gains[np.isin(each.map.effects, shown)].mean())
    return best.take(best.gains > least[best.map.effects])


def _closest_to(effects: IntegerArray, sample: WeightedPoints, scale: int, slope: float, may_lead: Mask) -> int:
    """The coordinate that the effects are closest to where the scale is small."""
    order = np.argsort(slope * sample.points[:, scale])
    narrow = order[: int(np.searchsorted(np.cumsum(sample.weights[order]), _NARROW_SHARE)) + 1]
    points, weights = sample.points[narrow], sample.weights[narrow] / sample.weights[narrow].sum()
    evened = points - weights @ points[:, effects].mean(axis=1)
    evened *= np.exp(-slope * (points[:, scale] - weights @ points[:, scale]))[:, None]
    evened -= weights @ evened
    moments = (evened * weights[:, None]).T @ evened
    variances = np.diag(moments)
    distances = np.log(np.maximum(variances[effects] + variances[:, None] - 2 * moments[:, effects], 1e-300))
    distances[effects, np.arange(len(effects))] = np.nan  # from itself
    distance = np.nanmean(distances, axis=1)
    distance[~may_lead] = distance[scale] = np.inf
    return int(np.argmin(distance))


# -- what the data say -------------------------------------------------------------------------------------------------


def _fit_group(sample: WeightedPoints, effects: IntegerArray, location: int, scale: int, slope: float) -> _Group:
    """That of the largest likelihood; in units of the effects' own deviations on the way."""
    points, weights = sample.points, sample.weights
    center = weights @ points[:, effects]
    unit = np.sqrt(weights @ (points[:, effects] - center) ** 2) + 1e-300
    x = (points[:, effects] - center) / unit
    known = None if location < 0 else (points[:, [location]] - center) / unit
    log_group = 2 * np.log(unit) - 2 * slope * points[:, [scale]]
    (log_factor, log_data, value, constant), heights = _maximize(x, sample, known, log_group)
    same = np.ones(len(effects), dtype=np.int64)
    map_ = HierarchicalMap(
        effects,
        location * same,
        center + unit * constant,
        scale * same,
        np.full(len(effects), slope),
        log_factor,
        center + unit * value,
        log_data - 2 * np.log(unit),
    )
    leads = points[:, [scale] if location < 0 else [scale, location]]
    return _Group(map_, heights - _heights_of_lines(x, weights, leads))


def _heights_of_lines(x: Array, weights: Array, leads: Array) -> Array:
    """The mean log-likelihoods of regressions on the leading coordinates, with one variance each."""
    root = np.sqrt(weights)[:, None]
    features, values = root * np.column_stack([np.ones(len(x)), leads - leads.mean(axis=0)]), root * x
    rest = values - features @ np.linalg.lstsq(features, values, rcond=None)[0]
    return np.asarray(-0.5 - 0.5 * np.log((rest**2).sum(axis=0) + 1e-300))


def _maximize(x: Array, sample: WeightedPoints, known: Array | None, log_group: Array) -> tuple[Array, Array]:
    """Log-factors, log-precisions, values and constants (4, m), and the mean log-posteriors, by Fisher's scoring.

    A step that leads down is taken back, and the next is shorter.
    """
    parameters, size = np.zeros((4, x.shape[1])), np.ones(x.shape[1])
    height, step = _score(parameters, x, sample, known, log_group)
    for _ in range(_NUM_STEPS):
        tried = parameters + size * step
        tried[1] = np.clip(tried[1], -_MAX_LOG_RATIO, _MAX_LOG_RATIO)
        new_height, new_step = _score(tried, x, sample, known, log_group)
        is_up = new_height > height
        parameters, step = np.where(is_up, tried, parameters), np.where(is_up, new_step, step)
        height, size = np.maximum(height, new_height), np.where(is_up, np.minimum(2 * size, 1.0), size / 4)
    return parameters, height


def _score(
    parameters: Array, x: Array, sample: WeightedPoints, known: Array | None, log_group: Array
) -> tuple[Array, Array]:
    """Of every effect the mean log-posterior, (m,), and the step of Fisher's scoring, (4, m)."""
    weights, (log_factor, log_data, value, constant) = sample.weights, parameters
    log_precision = np.logaddexp(log_group + log_factor, log_data)
    share, location = np.exp(log_group + log_factor - log_precision), constant if known is None else known
    rest, precision = x - value - share * (location - value), np.exp(log_precision)
    zero, mixed = np.zeros_like(x), share * (1 - share) * (location - value)
    of_precision = np.stack([share, 1 - share, zero, zero])
    of_mean = np.stack([mixed, -mixed, 1 - share, share if known is None else zero])
    slope = np.einsum("n,pnm->mp", weights, 0.5 * (1 - precision * rest**2) * of_precision + precision * rest * of_mean)
    information = 0.5 * np.einsum("n,pnm,qnm->mpq", weights, of_precision, of_precision)
    information += np.einsum("n,pnm,qnm->mpq", weights, precision * of_mean, of_mean)
    information += _RIDGE * np.eye(4)
    prior = 1 / sample.effective_sample_size  # of the log-factor: a point's worth of precision, divided among all
    slope[:, 0] -= prior * log_factor
    information[:, 0, 0] += prior
    step = np.linalg.solve(information, slope[..., None])[..., 0].T
    height = weights @ (0.5 * log_precision - 0.5 * precision * rest**2) - 0.5 * prior * log_factor**2
    return height, np.clip(step, -_MAX_STEP, _MAX_STEP)
