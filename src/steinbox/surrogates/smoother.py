r"""The surrogate for noisy values: a regression of log p that smooths instead of interpolating."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.surrogates.interpolant import Interpolant, gram_matrix, profile, trend_features


@dataclass(frozen=True, kw_only=True)
class Smoother(Interpolant):
    r"""The :class:`Interpolant` with a nugget :math:`\eta` that is chosen as well, so that noise is averaged out.

    Values are modelled as trend + process of variance :math:`s^2` + noise of variance :math:`\eta s^2`. Length-scale
    and :math:`\eta` are the most likely of a few; if the noise is known, so is :math:`s^2 = \sigma^2 / \eta`, and
    otherwise it is profiled out.

    Parameters
    ----------
    noise : float, optional
        The standard deviation :math:`\sigma` of the values; estimated if not given.
    nuggets : tuple of float
        Candidates for :math:`\eta`.
    """

    noise: float | None = None
    nuggets: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    num_history: int = 10
    num_selection_points: int = 200

    def log_likelihood(self, z: Array, values: Array, bandwidth: float, nugget: float) -> float:
        if self.noise is None:
            return super().log_likelihood(z, values, bandwidth, nugget)
        squares, log_determinant = profile(gram_matrix(z, self.kernel, bandwidth, nugget), trend_features(z), values)
        variance = self.noise**2 / nugget
        return float(-0.5 * (len(values) * np.log(variance) + log_determinant + squares / variance))
