"""The Metropolis-Hastings rule, and steps that adapt to how often it accepts."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array


def acceptance_probability(current: Array, proposed: Array, correction: Array) -> Array:
    r"""Metropolis-Hastings: :math:`\min(1, \tfrac{p(x')\, q(x \mid x')}{p(x)\, q(x' \mid x)})`.

    A chain outside the support takes any step into it, and none outside.

    Examples
    --------
    >>> import numpy as np
    >>> acceptance_probability(np.array([0.0, -np.inf]), np.array([-np.log(2), -3.0]), np.zeros(2))
    array([0.5, 1. ])
    """
    inside = np.isfinite(proposed)
    with np.errstate(invalid="ignore"):
        log_ratio = np.where(np.isfinite(current), proposed - current, np.inf) + correction
    return np.where(inside & ~np.isnan(log_ratio), np.exp(np.minimum(log_ratio, 0.0)), 0.0)


def robbins_monro(log_scale: float, acceptance: float, target: float, step: int) -> float:
    r"""A scale that moves towards a target acceptance: :math:`\log s + t^{-0.6} (a - a^*)` (Andrieu & Thoms, 2008)."""
    return float(log_scale + step**-0.6 * (acceptance - target))
