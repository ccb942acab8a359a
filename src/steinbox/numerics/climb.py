r"""A climb: quasi-Newton ascent of a function by its values alone, in ask and tell.

.. code-block:: text

   slope ─ d differences ─► line ─ a few lengths at once ─► slope ─► … ─► curvature ─ second differences ─► top
           BFGS update                 the best one                        in BFGS's own coordinates

Nothing waits for one value after another: all points of a phase are one batch, and any number of climbs can be made
side by side. A climb ends where the quadratic that BFGS has learned promises less than a tenth of a nat; then a
Gaussian at the top is measured by second differences, whose steps are that Gaussian's own standard deviations
(Nocedal & Wright, 2006, chapters 6 and 8).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable

_DIFFERENCE = 1e-4  # step of first differences, in the units of the coordinates
_RELATIVE_DIFFERENCE = 0.02  # and at most this, in standard deviations that BFGS has learned
_MIN_DIFFERENCE = 1e-9  # below, differences are rounding errors
_FINER = 1e-2  # factor by which it shrinks if no step along the slope leads up
_MAX_FINER = 2  # times
LENGTHS: Array = np.array([1 / 16, 1 / 4, 1.0, 4.0, 16.0])  # of a step, relative to the quasi-Newton step
_SHORTER = 1e-3  # factor by which lengths shrink if none was better
_MAX_SHORTER = 1  # times in a row
_MIN_GAIN = 0.1  # nats of a step, promised and found: twice in a row less, and the climb is at its top
_HIGHER = 0.5  # nats by which second differences may find, or promise, a higher point before the climb goes on
_MAX_FROM_TOP = 3  # times that a climb goes on from its top
_MAX_STEP = 3.0  # in the units of the coordinates
_MIN_VARIANCE = 1e-13  # relative to the largest
_LOWEST = -1e100  # a value below is a penalty that stands for −inf
_OUTSIDE = 50.0  # nats below the top: a point outside the support, in second differences
_MIN_CURVATURE = 0.04  # in BFGS's own coordinates: a direction is at most five times as wide as BFGS has learned


@serializable("climb-slope")
@dataclass(frozen=True, eq=False)
class Slope:
    """Differences along the coordinates: forward, and at first there and back, which tells the scales, too."""

    steps: Array
    before: tuple[Array, Array] | None = None  # point and gradient


@serializable("climb-line")
@dataclass(frozen=True, eq=False)
class Line:
    """Points on a ray."""

    direction: Array
    lengths: Array
    gradient: Array
    num_shorter: int = 0


@serializable("climb-curvature")
@dataclass(frozen=True, eq=False)
class Curvature:
    """Second differences along the columns of a root of the covariance."""

    root: Array


@serializable("climb-top")
@dataclass(frozen=True, eq=False)
class Top:
    """The end: a root of the covariance of the Gaussian that has the same curvature."""

    root: Array


Phase: TypeAlias = Slope | Line | Curvature | Top


@serializable("climb")
@dataclass(frozen=True, eq=False)
class Climb:
    """How far a climb has come.

    Parameters
    ----------
    point : (d,) array
        In coordinates in which the start is about one wide.
    value : float
        The function there; NaN if it is not known yet.
    inverse_hessian : (d, d) array
        Of minus the function, as BFGS has learned it.
    num_small : int
        Steps in a row that gained next to nothing.
    max_curvature_evals : int
        Second differences that it may make; if they would be more, the top's Gaussian is that of BFGS.

    Examples
    --------
    >>> import numpy as np
    >>> scales = np.array([1.0, 0.01])
    >>> climb = start_climb(np.array([1.0, -1.0]))
    >>> while not climb.is_done:
    ...     climb = climb.tell(-0.5 * ((climb.ask() / scales) ** 2).sum(axis=1))
    >>> climb.value > -0.1, np.sqrt(np.diag(climb.covariance)).round(3)
    (True, array([1.  , 0.01]))
    """

    point: Array
    value: float
    inverse_hessian: Array
    phase: Phase
    num_small: int = 0
    num_finer: int = 0
    num_from_top: int = 0
    num_evals: int = 0
    max_curvature_evals: int = field(default=10**9)

    @property
    def is_done(self) -> bool:
        """Whether it is at its top, and the Gaussian there is known."""
        return isinstance(self.phase, Top)

    @property
    def covariance(self) -> Array:
        """Of the Gaussian at the top, or what is known of it so far."""
        root = self.phase.root if isinstance(self.phase, Top) else _root(self.inverse_hessian)
        return np.asarray(root @ root.T)

    def stop(self) -> Climb:
        """The climb ended where it is, with the Gaussian that BFGS has learned."""
        return replace(self, phase=Top(_root(self.inverse_hessian)))

    def ask(self) -> Array:
        """The points of this phase, (m, d)."""
        match self.phase:
            case Slope(sizes, before):
                steps = np.diag(sizes)
                steps = steps if before is not None else np.concatenate([steps, -steps])
                return np.concatenate([self.point[None], self.point + steps])
            case Line(direction, lengths):
                return np.asarray(self.point + lengths[:, None] * direction)
            case Curvature(root):
                return np.asarray(self.point + _second_difference_steps(root))
            case Top():
                return np.empty((0, len(self.point)))

    def tell(self, values: Array) -> Climb:
        """The climb after the values of the points it asked for; outside the support they are −inf."""
        climb = replace(self, num_evals=self.num_evals + len(values))
        values = np.where(values < _LOWEST, -np.inf, values)
        match self.phase:
            case Slope():
                return _learn_slope(climb, self.phase, values)
            case Line():
                return _step(climb, self.phase, values)
            case Curvature():
                return _learn_curvature(climb, self.phase, values)
            case Top():
                return self


def start_climb(point: Array, max_curvature_evals: int = 10**9) -> Climb:
    """A climb from a point."""
    slope = Slope(np.full(len(point), _DIFFERENCE))
    return Climb(point, np.nan, np.eye(len(point)), slope, max_curvature_evals=max_curvature_evals)


def num_second_differences(dimension: int) -> int:
    """Evaluations that the curvature takes."""
    return dimension * (dimension + 3) // 2


# -- slope -------------------------------------------------------------------------------------------------------------


def _learn_slope(climb: Climb, phase: Slope, values: Array) -> Climb:
    """The gradient, what BFGS learns from it, and the ray to look along; where a difference fails it counts as flat."""
    climb = replace(climb, value=float(values[0]))
    if not np.isfinite(climb.value):
        return climb.stop()
    differences = values[1:] - climb.value
    if phase.before is None:
        there, back = np.split(differences, 2)
        gradient = _average_slope(there, back) / phase.steps
        climb = replace(climb, inverse_hessian=_first_scales(there + back, phase.steps))
    else:
        gradient = np.where(np.isfinite(differences), differences, 0.0) / phase.steps
        climb = _update(climb, climb.point - phase.before[0], phase.before[1] - gradient)
    return _decide_direction(climb, phase, gradient)


def _average_slope(there: Array, back: Array) -> Array:
    """One of the two, if the other leaves the support."""
    there_inside, back_inside = np.isfinite(there), np.isfinite(back)
    total = np.where(there_inside, there, 0.0) - np.where(back_inside, back, 0.0)
    return np.asarray(total / np.maximum(there_inside.astype(int) + back_inside, 1))


def _first_scales(second_differences: Array, steps: Array) -> Array:
    """A diagonal of inverse curvatures, at most one."""
    curvatures = np.abs(np.where(np.isfinite(second_differences), second_differences, 0.0)) / steps**2
    return np.diag(1 / np.maximum(curvatures, 1.0))


def _decide_direction(climb: Climb, phase: Slope, gradient: Array) -> Climb:
    """The ray to look along; the top, if the quadratic promises next to nothing and has kept its promise."""
    direction = climb.inverse_hessian @ gradient
    promised = 0.5 * float(gradient @ direction)
    if promised < _MIN_GAIN and (climb.num_small >= 2 or promised == 0.0):
        return _measure(climb)
    return replace(climb, phase=_line(direction, gradient))


def _update(climb: Climb, step: Array, change: Array) -> Climb:
    """BFGS, with the change of minus the gradient; nothing is learned where the function is not concave."""
    along = float(step @ change)
    if along <= 1e-10 * np.linalg.norm(step) * np.linalg.norm(change):
        return climb
    left = np.eye(len(step)) - np.outer(step, change) / along
    inverse = left @ climb.inverse_hessian @ left.T + np.outer(step, step) / along
    return replace(climb, inverse_hessian=inverse)


def _difference_steps(climb: Climb) -> Array:
    """A small part of a standard deviation of every coordinate given the others, as BFGS has learned it."""
    curvatures = np.diag(np.linalg.pinv(climb.inverse_hessian, hermitian=True))
    return np.clip(_RELATIVE_DIFFERENCE / np.sqrt(np.maximum(curvatures, 1e-300)), _MIN_DIFFERENCE, _DIFFERENCE)


# -- line --------------------------------------------------------------------------------------------------------------


def _line(direction: Array, gradient: Array) -> Line:
    """A ray along which no step is longer than the start is wide, by and large."""
    longest = _MAX_STEP / max(float(np.linalg.norm(direction)), 1e-300)
    return Line(direction, min(1.0, longest / LENGTHS[-1]) * LENGTHS, gradient)


def _step(climb: Climb, phase: Line, values: Array) -> Climb:
    """To the best point of the ray; if none is better, shorter steps, then finer differences, then the top."""
    best = int(np.argmax(values))
    if values[best] > climb.value:
        small = climb.num_small + 1 if values[best] - climb.value < _MIN_GAIN else 0
        point = climb.point + phase.lengths[best] * phase.direction
        slope = Slope(_difference_steps(climb), (climb.point, phase.gradient))
        return replace(climb, point=point, value=float(values[best]), phase=slope, num_small=small)
    if phase.num_shorter < _MAX_SHORTER:
        shorter = replace(phase, lengths=_SHORTER * phase.lengths, num_shorter=phase.num_shorter + 1)
        return replace(climb, phase=shorter)
    if climb.num_finer < _MAX_FINER and climb.num_small < 2:
        number = climb.num_finer + 1
        return replace(climb, phase=Slope(_FINER**number * _difference_steps(climb)), num_finer=number)
    return _measure(climb)


# -- curvature ---------------------------------------------------------------------------------------------------------


def _measure(climb: Climb) -> Climb:
    if num_second_differences(len(climb.point)) > climb.max_curvature_evals:
        return climb.stop()
    return replace(climb, phase=Curvature(_root(climb.inverse_hessian)))


def _second_difference_steps(root: Array) -> Array:
    """There and back along every column, and along the sums of two."""
    columns, (first, second) = root.T, np.triu_indices(len(root), 1)
    return np.concatenate([columns, -columns, columns[first] + columns[second]])


def _learn_curvature(climb: Climb, phase: Curvature, values: Array) -> Climb:
    """The Gaussian at the top, unless what was measured promises a higher one, or a direction is much wider."""
    values = np.maximum(values, climb.value - _OUTSIDE)
    hessian, slope = _second_differences(climb.value, values)
    measured, vectors = np.linalg.eigh(hessian)
    curvatures = np.maximum(measured, _MIN_CURVATURE)
    root = phase.root @ (vectors / np.sqrt(curvatures))
    promised = 0.5 * float(((vectors.T @ slope) ** 2 / curvatures).sum())
    is_higher = max(promised, float(values.max()) - climb.value) > _HIGHER
    is_wider = measured.min() < _MIN_CURVATURE
    if climb.num_from_top >= _MAX_FROM_TOP or not (is_higher or is_wider):
        return replace(climb, phase=Top(root))
    climb = replace(climb, num_from_top=climb.num_from_top + 1, num_small=0, inverse_hessian=root @ root.T)
    if not is_higher:
        return replace(climb, phase=Curvature(root))
    gradient = np.asarray(np.linalg.solve(phase.root.T, slope))
    return replace(climb, phase=_line(root @ (root.T @ gradient), gradient))


def _second_differences(value: float, values: Array) -> tuple[Array, Array]:
    """Minus the Hessian, and the gradient, in the coordinates of the steps."""
    dimension = round(np.sqrt(2 * len(values) + 2.25) - 1.5)
    there, back, sums = np.split(value - values, [dimension, 2 * dimension])
    hessian = np.zeros((dimension, dimension))
    first, second = np.triu_indices(dimension, 1)
    hessian[first, second] = sums - there[first] - there[second]
    return np.asarray(hessian + hessian.T + np.diag(there + back)), 0.5 * (back - there)


def _root(covariance: Array) -> Array:
    variances, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return np.asarray(vectors * np.sqrt(np.maximum(variances, max(_MIN_VARIANCE * variances.max(), 1e-300))))
