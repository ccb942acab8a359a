r"""Hierarchies made white: effects given the location and the scale of their group.

In a hierarchical model, an effect :math:`x_k` is normal around a location :math:`\ell_k`, which is another coordinate
:math:`x_{a(k)}` or a constant, and a third coordinate :math:`x_{b(k)}` is the logarithm of its scale, but for a factor
and a constant. Data say that it is :math:`y_k`, with precision :math:`c_k`. Given the rest, it is normal with

.. math:: P_k = e^{r_k - 2 \lambda_k x_{b(k)}} + c_k, \qquad
          m_k = \frac{e^{r_k - 2 \lambda_k x_{b(k)}}\, \ell_k + c_k\, y_k}{P_k}, \qquad
          u_k = \sqrt{P_k}\, (x_k - m_k), \qquad
          \log \Big|\frac{\partial u}{\partial x}\Big| = \tfrac12 \sum_k \log P_k .

Where the scale is small, the x lie in the neck of a funnel, and the u do not. This is the non-centered form there, and
the centered form where the data say more than the group does (Papaspiliopoulos, Roberts & Sköld, 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from steinbox.common.arrays import Array, IntegerArray, Mask
from steinbox.common.serialization import serializable
from steinbox.maps.bijection import Bijection

_MAX_LOG_PRECISION = 600.0  # of a group: more could not be exponentiated


@serializable("hierarchical-map")
@dataclass(frozen=True, eq=False)
class HierarchicalMap(Bijection):
    r"""``forward`` leads from effects x to standardized effects u.

    Arrays have an entry for each effect: its coordinate; that of its location, or −1 and a constant; that of its
    log-scale, with the slope :math:`\lambda` (1, 1/2 or −1/2 for that of a deviation, a variance or a precision)
    and the logarithm r of a factor; and the values y and log-precisions :math:`\log c` of the data. No location and no
    scale is an effect itself.

    Examples
    --------
    An effect around coordinate 0, with scale 2 (the logarithm of which is coordinate 1), and hardly any data:

    >>> import numpy as np
    >>> numbers = (2, 0, 0.0, 1, 1.0, 0.0, 0.0, -50.0)
    >>> map_ = HierarchicalMap(*(np.array([number]) for number in numbers))
    >>> map_.forward(np.array([[5.0, np.log(2), 9.0]])).round(3)  # (9 - 5) / 2
    array([[5.   , 0.693, 2.   ]])
    """

    effects: IntegerArray
    locations: IntegerArray
    constants: Array
    scales: IntegerArray
    slopes: Array
    log_factors: Array
    values: Array
    log_precisions: Array

    @classmethod
    def join(cls, maps: Sequence[HierarchicalMap]) -> HierarchicalMap:
        """The effects of all of them."""
        columns = zip(*(each._arrays for each in maps), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def take(self, rows: Mask) -> HierarchicalMap:
        """Some of the effects."""
        return HierarchicalMap(*(array[rows] for array in self._arrays))

    @property
    def _arrays(self) -> list[Any]:
        return [getattr(self, each.name) for each in fields(self)]

    @property
    def is_curved(self) -> bool:
        """It is."""
        return True

    def forward(self, points: Array) -> Array:
        """The points with standardized effects."""
        return self.forward_and_log_det(points)[0]

    def inverse(self, images: Array) -> Array:
        """The points whose standardized effects these are."""
        mean, log_precision, _ = self._conditionals(images)
        points = images.copy()
        points[:, self.effects] = mean + images[:, self.effects] * np.exp(-0.5 * log_precision)
        return points

    def log_det(self, points: Array) -> Array:
        """Half the sum of the effects' log-precisions, (n,)."""
        return np.asarray(0.5 * self._conditionals(points)[1].sum(axis=1))

    def forward_and_log_det(self, points: Array) -> tuple[Array, Array]:
        """The points with standardized effects, (n, d), and the logarithm of the map's determinant at each, (n,)."""
        mean, log_precision, _ = self._conditionals(points)
        images = points.copy()
        images[:, self.effects] = (points[:, self.effects] - mean) * np.exp(0.5 * log_precision)
        return images, np.asarray(0.5 * log_precision.sum(axis=1))

    def pull_back_score(self, points: Array, score: Array) -> Array:
        """By the chain rule: u depends on the effect, on its location, and on its log-scale."""
        mean, log_precision, share = self._conditionals(points)
        root = np.exp(0.5 * log_precision)
        through, rest = score[:, self.effects] * root, points[:, self.effects] - mean
        pulled = score.copy()
        pulled[:, self.effects] = through
        has_location = self.locations >= 0
        np.add.at(pulled.T, self.locations[has_location], -(through * share).T[has_location])
        of_log_precision = 0.5 * (1 + through * rest) - through * (self._location(points) - mean)
        np.add.at(pulled.T, self.scales, -2 * (self.slopes * share * of_log_precision).T)
        return pulled

    def _conditionals(self, points: Array) -> tuple[Array, Array, Array]:
        """Of the effects: means, log-precisions, and the share of the precision that is the group's."""
        log_group = np.minimum(self.log_factors - 2 * self.slopes * points[:, self.scales], _MAX_LOG_PRECISION)
        log_precision = np.logaddexp(log_group, self.log_precisions)
        share = np.exp(log_group - log_precision)
        return share * self._location(points) + (1 - share) * self.values, log_precision, share

    def _location(self, points: Array) -> Array:
        return np.where(self.locations < 0, self.constants, points[:, self.locations])
