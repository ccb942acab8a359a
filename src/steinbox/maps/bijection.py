r"""What every map is: a smooth, invertible :math:`f`, and the density that it pulls back.

A density p is known, or easy to draw from, at the points :math:`f(x)`; what is wanted is the density at the points x
themselves,

.. math:: q(x) = p(f(x))\, \Big|\det \frac{\partial f}{\partial x}\Big|,

the *pullback* of p by f (Marzouk et al., 2016). One convention for all maps follows from it:

- ``forward`` is f, from x to where p is known; ``inverse`` leads back, and turns draws of p into draws of q;
- ``log_det`` is :math:`\log |\det \partial f / \partial x|` of ``forward``, at x;
- ``pull_back_score`` makes the score of q at x from that of p at f(x).

=============================================  ==========================  ==================================
map                                            x                           f(x)
=============================================  ==========================  ==================================
:class:`~steinbox.maps.bounds.Bounds`          free, where samplers move   the user's, inside the bounds
:class:`~steinbox.maps.triangular.TriangularMap`  curved                   nearly white
:class:`~steinbox.maps.triangular.RotatedMap`  curved, along other axes    nearly white
:class:`~steinbox.maps.hierarchical.HierarchicalMap`  of a hierarchy   effects in units of their scale
:class:`~steinbox.maps.marginal.MarginalMap`   skew, or with heavy tails   nearly normal
:class:`Composition`                           the first's                 the second's
:class:`~steinbox.maps.coordinates.Affine`     the user's                  of comparable spread
=============================================  ==========================  ==================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable


class Bijection(Protocol):
    """An invertible map of points; all arrays are (n, d), log-determinants (n,)."""

    @property
    def is_curved(self) -> bool:
        """Whether it is more than affine."""
        ...

    def forward(self, points: Array) -> Array:
        """The images f(x)."""
        ...

    def inverse(self, images: Array) -> Array:
        """The points whose images these are."""
        ...

    def log_det(self, points: Array) -> Array:
        """The logarithm of the absolute value of the determinant of forward's Jacobian, (n,)."""
        ...

    def forward_and_log_det(self, points: Array) -> tuple[Array, Array]:
        """Both; maps that get one with the other compute them once."""
        return self.forward(points), self.log_det(points)

    def pull_back_score(self, points: Array, score: Array) -> Array:
        r"""The score of q at the points, :math:`J^\top s + \nabla \log |\det J|`, from the score s of p at f(x)."""
        ...


@dataclass(frozen=True)
class Identity(Bijection):
    """Every point is its own image."""

    @property
    def is_curved(self) -> bool:
        """It is not."""
        return False

    def forward(self, points: Array) -> Array:
        return points

    def inverse(self, images: Array) -> Array:
        return images

    def log_det(self, points: Array) -> Array:
        return np.zeros(len(points))

    def pull_back_score(self, points: Array, score: Array) -> Array:
        return score


@serializable("composition")
@dataclass(frozen=True, eq=False)
class Composition(Bijection):
    """The images under ``second`` of the images under ``first``."""

    first: Bijection
    second: Bijection

    @property
    def is_curved(self) -> bool:
        """Whether one of the two is."""
        return self.first.is_curved or self.second.is_curved

    def forward(self, points: Array) -> Array:
        """The images of the images."""
        return self.second.forward(self.first.forward(points))

    def inverse(self, images: Array) -> Array:
        """The points whose images these are."""
        return self.first.inverse(self.second.inverse(images))

    def log_det(self, points: Array) -> Array:
        """The sum of both."""
        return self.forward_and_log_det(points)[1]

    def forward_and_log_det(self, points: Array) -> tuple[Array, Array]:
        """The images, (n, d), and the logarithm of the determinant at each, (n,)."""
        between, first_log_det = self.first.forward_and_log_det(points)
        images, second_log_det = self.second.forward_and_log_det(between)
        return images, np.asarray(first_log_det + second_log_det)

    def pull_back_score(self, points: Array, score: Array) -> Array:
        """Through the second map, and then through the first."""
        return self.first.pull_back_score(points, self.second.pull_back_score(self.first.forward(points), score))
