r"""The surrogate for noisy values: a regression of log p that smooths instead of interpolating."""

from __future__ import annotations

from dataclasses import dataclass

from steinbox.numerics.gaussian_process import GaussianProcess
from steinbox.surrogates.interpolant import Interpolant


@dataclass(frozen=True, kw_only=True)
class Smoother(Interpolant):
    r"""The :class:`Interpolant` with a nugget :math:`\eta` that is chosen as well, so that noise is averaged out.

    Values are modeled as trend + process of variance :math:`s^2` + noise of variance :math:`\eta s^2`. Length-scale
    and :math:`\eta` are the most likely of a few; if the noise is known, so is :math:`s^2 = \sigma^2 / \eta`, and
    otherwise it is profiled out.

    It has no quadratic form, and one move is made by it: noise does not let several be judged.

    Parameters
    ----------
    noise : float, optional
        The standard deviation :math:`\sigma` of the values; estimated if not given.
    nuggets : tuple of float
        Candidates for :math:`\eta`; they take the place of ``nugget``.
    num_history, length_scales, quadratic_variances, max_moves, max_points, num_selection_points, wall, kernel
        As for :class:`Interpolant`.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> x = target.sample(200, 0)
    >>> noisy = target.log_prob(x) + 0.5 * np.random.default_rng(1).standard_normal(200)
    >>> smooth = sb.surrogates.Smoother(noise=0.5).build(x, noisy, num_current=200).log_prob(x)
    >>> error = smooth - target.log_prob(x)
    >>> bool(np.std(error) < 0.3)
    True
    """

    noise: float | None = None
    nuggets: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    quadratic_variances: tuple[float, ...] = (0.0,)
    max_moves: int = 1
    num_history: int = 10
    num_selection_points: int = 200

    @property
    def _candidate_nuggets(self) -> tuple[float, ...]:
        return self.nuggets

    def _log_likelihood(self, process: GaussianProcess) -> float:
        return process.log_likelihood(self.noise)
