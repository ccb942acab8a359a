r"""Matrix-valued weights: fields :math:`M(x)` that reshape the Stein operator.

Han & Liu (2018) remark after Theorem 1 that the weight w may be a matrix. With :math:`W = \frac{\rho}{p} M`, M
symmetric and positive definite, the Stein operator of p needs no gradient of p,

.. math:: \mathcal{S}_p(W\phi) = \frac{1}{p} \nabla\cdot(\rho M \phi)
          = \frac{\rho}{p} \big[ u^\top \phi + \mathrm{tr}(M \nabla\phi) \big], \qquad
          u = M \nabla\log\rho + \nabla\cdot M,

where :math:`(\nabla\cdot M)_b = \sum_a \partial_a M_{ab}`. With :math:`\rho = p` it is the diffusion Stein operator
(Gorham et al., 2019); the space of the :math:`M\phi` is that of the matrix-valued kernel
:math:`M(x) k(x, x') M(x')` (Wang et al., 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array
from steinbox.common.checks import require_number
from steinbox.numerics.pairwise.distances import positive_std
from steinbox.surrogates.base import Surrogate

_HESSIAN_STEP, _DIVERGENCE_STEP = 1e-4, 1e-3  # of central differences, in standard deviations of the points


@dataclass(frozen=True, eq=False)
class MatrixWeights:
    """A field at n points: symmetric matrices (n, d, d), and their divergence (n, d)."""

    matrices: Array
    divergence: Array

    def drift(self, score: Array) -> Array:
        r"""The :math:`u = M s + \nabla\cdot M` of these scores."""
        return np.asarray(np.einsum("nab,nb->na", self.matrices, score) + self.divergence)

    def push(self, inverse_root: Array) -> MatrixWeights:
        r"""The same field in coordinates :math:`z = R^{-1} (x - m)`: :math:`R^{-1} M R^{-\top}`."""
        return MatrixWeights(inverse_root @ self.matrices @ inverse_root.T, self.divergence @ inverse_root.T)


@runtime_checkable
class WeightField(Protocol):
    """A field of symmetric, positive definite matrices. Write your own if you like."""

    def evaluate(self, points: Array, surrogate: Surrogate, /) -> MatrixWeights:
        """Matrices and their divergence at the points (n, d)."""
        ...


@dataclass(frozen=True, eq=False)
class Constant:
    """The same matrix everywhere: a preconditioner.

    Examples
    --------
    >>> field = Constant([[4.0, 0.0], [0.0, 1.0]])
    >>> field.evaluate(np.zeros((3, 2)), None).divergence.any()
    np.False_
    """

    matrix: npt.ArrayLike

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        is_square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
        if not is_square or not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] <= 0:
            raise ValueError(f"expected a symmetric positive definite matrix, got {self.matrix!r}")
        object.__setattr__(self, "matrix", matrix)

    def evaluate(self, points: Array, surrogate: Surrogate | None) -> MatrixWeights:
        matrix = np.asarray(self.matrix)
        if len(matrix) != points.shape[1]:
            raise ValueError(f"expected a weight of {points.shape[1]} rows, one per parameter, got {len(matrix)}")
        return MatrixWeights(np.broadcast_to(matrix, (len(points), *matrix.shape)), np.zeros_like(points))


@dataclass(frozen=True)
class Scalar:
    """A positive number at each point: ``value(points)`` has shape (n,), its gradient ``slope(points)`` (n, d).

    Examples
    --------
    >>> tails = Scalar(lambda x: 1 + (x**2).sum(axis=1), lambda x: 2 * x)
    >>> tails.evaluate(np.array([[1.0, 0.0]]), None).matrices[0]
    array([[2., 0.],
           [0., 2.]])
    """

    value: Callable[[Array], npt.ArrayLike]
    slope: Callable[[Array], npt.ArrayLike]

    def evaluate(self, points: Array, surrogate: Surrogate | None) -> MatrixWeights:
        value, slope = np.asarray(self.value(points), float), np.asarray(self.slope(points), float)
        if value.shape != points.shape[:1] or slope.shape != points.shape or not (value > 0).all():
            raise ValueError(
                f"expected positive values of shape {points.shape[:1]} and slopes of shape {points.shape}, got "
                f"{value.shape} and {slope.shape}, the smallest value {value.min():g}"
            )
        return MatrixWeights(value[:, None, None] * np.eye(points.shape[1]), slope)


@dataclass(frozen=True)
class InverseHessian:
    r"""The surrogate's own curvature: Stein variational Newton (Detommaso et al., 2018) without a gradient of p.

    With :math:`H = -\nabla^2 \log\rho` in units of the points' standard deviations,

    .. math:: M(x) = (H(x)^2 + \delta^2 I)^{-1/2},

    a smooth inverse of :math:`|H|` that is never larger than :math:`1/\delta`. Both H and the divergence of M are
    differences of the surrogate's score, 4 d² of them.

    Examples
    --------
    >>> import steinbox as sb
    >>> points = np.array([[-1.0], [1.0]])  # of standard deviation one, as the surrogate
    >>> InverseHessian(damping=0.0).evaluate(points, sb.Gaussian([0.0], std=1.0)).matrices.round(6).ravel()
    array([1., 1.])
    """

    damping: float = 1.0

    def __post_init__(self) -> None:
        require_number("damping", self.damping, smallest=0)

    def evaluate(self, points: Array, surrogate: Surrogate) -> MatrixWeights:
        scales = positive_std(points)
        (matrices,) = self._matrices(points[None], surrogate, scales)
        shifts = _DIVERGENCE_STEP * np.diag(scales)
        up, down = (self._matrices(points + sign * shifts[:, None], surrogate, scales) for sign in (1, -1))
        slopes = (up - down) / (2 * _DIVERGENCE_STEP * scales)[:, None, None, None]
        return MatrixWeights(matrices, np.einsum("anab->nb", slopes))

    def _matrices(self, batches: Array, surrogate: Surrogate, scales: Array) -> Array:
        """M at batches of points, (m, n, d)."""
        dimension, shifts = len(scales), _HESSIAN_STEP * np.diag(scales)
        shifted = np.stack([batches[None] + sign * shifts[:, None, None] for sign in (1, -1)])
        scores = np.asarray(surrogate.score(shifted.reshape(-1, dimension))).reshape(shifted.shape)
        hessian = -np.moveaxis(scores[0] - scores[1], 0, -2) / (2 * _HESSIAN_STEP) * scales  # in units of the scales
        values, vectors = np.linalg.eigh((hessian + np.swapaxes(hessian, -1, -2)) / 2)
        roots = scales[:, None] * vectors / np.sqrt(np.hypot(values, self.damping))[..., None, :]
        return np.asarray(roots @ np.swapaxes(roots, -1, -2))


def as_weight_field(weight: Any) -> WeightField | None:
    """A field from a field, from a matrix, or none; anything else is a TypeError that says what was expected."""
    if weight is None or (isinstance(weight, WeightField) and not isinstance(weight, type)):
        return weight
    if isinstance(weight, (np.ndarray, list, tuple)):
        return Constant(weight)
    raise TypeError(
        "expected a weight: a matrix, one of steinbox.weight_fields, or an object with evaluate(points, surrogate); "
        f"got {weight!r}"
    )
