r"""The surrogate for noisy values: a regression of log p that smooths instead of interpolating."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.coordinates import Whitened
from steinbox.surrogates.interpolant import (
    Interpolant,
    InterpolantSurrogate,
    generalized_least_squares,
    gram_matrix,
    trend_features,
    with_wall,
)
from steinbox.types import Array


@dataclass(frozen=True, kw_only=True)
class Smoother(Interpolant):
    r"""The :class:`Interpolant` with a nugget :math:`\eta` that is chosen as well, so that noise is averaged out.

    Values are modelled as trend + process of variance :math:`s^2` + noise of variance :math:`\eta s^2`. Length-scale and
    :math:`\eta` are the most likely of a few; if the noise is known, so is :math:`s^2 = \sigma^2 / \eta`, and otherwise
    it is profiled out.

    Parameters
    ----------
    noise : float, optional
        The standard deviation :math:`\sigma` of the values; estimated if not given.
    nuggets : tuple of float
        Candidates for :math:`\eta`.
    """

    noise: float | None = None
    nuggets: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    num_selection_points: int = 200

    def build(self, points: Array, log_target: Array, num_current: int) -> InterpolantSurrogate:
        coordinates = Whitened().fit(points[:num_current])
        points, log_target = points[: self.max_points], log_target[: self.max_points]
        z, values = coordinates.forward(points), with_wall(log_target, self.wall)
        bandwidth, nugget = self._most_likely(z, values)
        gram = gram_matrix(z, self.kernel, bandwidth, nugget)
        trend, coefficients = generalized_least_squares(gram, trend_features(z), values)
        return InterpolantSurrogate(coordinates, z, coefficients, trend, self.kernel, bandwidth)

    def _most_likely(self, z: Array, values: Array) -> tuple[float, float]:
        stride = -(-len(z) // self.num_selection_points)
        z, values = z[::stride], values[::stride]
        candidates = [(2 * scale * z.shape[1], nugget) for scale in self.length_scales for nugget in self.nuggets]
        return max(candidates, key=lambda candidate: self._log_likelihood(z, values, *candidate))

    def _log_likelihood(self, z: Array, values: Array, bandwidth: float, nugget: float) -> float:
        gram, features = gram_matrix(z, self.kernel, bandwidth, nugget), trend_features(z)
        trend, coefficients = generalized_least_squares(gram, features, values)
        squares = float((values - features @ trend) @ coefficients)
        log_determinant = float(np.linalg.slogdet(gram)[1])
        if self.noise is None:
            return -0.5 * (len(values) * np.log(squares / len(values)) + log_determinant)
        variance = self.noise**2 / nugget
        return -0.5 * (len(values) * np.log(variance) + log_determinant + squares / variance)
