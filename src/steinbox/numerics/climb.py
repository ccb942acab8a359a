r"""A climb: quasi-Newton ascent of a function by its values alone, in ask and tell.

.. code-block:: text

   slope ─ d differences ─► line ─ a few lengths at once ─► slope ─► … ─► curvature ─ second differences ─► top
           BFGS update                 the best one

Nothing waits for one value after another: all points of a phase are one batch, and any number of climbs can be made
side by side.

All differences are along the columns of a root R of the inverse Hessian :math:`R R^\top` that BFGS has learned, and
their steps are parts of a standard deviation of the Gaussian it describes: what is lost by differences does not depend
on how narrow or correlated the function is. Forward differences show the way. Where they promise or gain less than a
tenth of a nat, central ones look again, farther out; they also measure the curvature of every column, which is
stretched or shrunk by it. If these agree that there is nothing to gain, all second differences at one standard
deviation make the Gaussian at the top (Nocedal & Wright, 2006, chapters 6 and 8).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable

LENGTHS: Array = np.array([1 / 16, 1 / 4, 1.0, 4.0, 16.0])  # of a step, relative to the quasi-Newton step
_FIRST_STEP = 1e-4  # of differences, in the units of the coordinates, while nothing is known
_FORWARD_STEP = 0.02  # of forward differences, in standard deviations
_CENTRAL_STEP = 0.3  # of central differences, in standard deviations
_MIN_GAIN = 0.1  # nats, promised or found: with less, central differences look again
_MIN_GAIN_PER_DIMENSION = 0.05  # nats of a step: with less, second differences are made
_HIGHER = 0.5  # nats by which second differences may find, or promise, a higher point before the climb goes on
_TYPICAL = 0.5  # nats per dimension below the top: typical draws of a Gaussian are there
_KEPT = 0.25  # by which the gain of a step may differ from what second differences promised, if these are right
_CURVATURES = (0.04, 4.0)  # of a column that is as long as it should be: up to five times too short, or twice too long
_MIN_CURVATURE = 0.002  # of second differences: a direction becomes up to 22 times as wide
_MAX_STRETCHED = 8  # times in a row that columns are stretched or shrunk, and nothing else
_MAX_AT_TOP = 4  # times that second differences are made in a row, and the climb comes no higher
_MAX_STEP = 3.0  # in the units of the coordinates
_SHORTER = 1e-3  # factor by which the lengths of a step shrink, once, if none of them leads up
_MIN_VARIANCE = 1e-13  # relative to the largest
_LOWEST = -1e100  # a value below is a penalty that stands for −inf
_OUTSIDE = 50.0  # nats below the top: a point outside the support, in second differences


@serializable("climb-slope")
@dataclass(frozen=True, eq=False)
class Slope:
    """Differences along the columns of the root: forward, or there and back."""

    step: float
    is_central: bool
    before: tuple[Array, Array] | None = None  # point and gradient
    num_stretched: int = 0
    is_last: bool = False  # second differences have kept their promise, or show no way up

    @property
    def is_first(self) -> bool:
        """Whether the root is not known yet."""
        return self.step == _FIRST_STEP


@serializable("climb-line")
@dataclass(frozen=True, eq=False)
class Line:
    """Points on a ray, and whether central differences say that it leads up."""

    direction: Array
    lengths: Array
    gradient: Array
    is_central: bool
    promised: float = np.nan  # nats, by second differences
    is_shorter: bool = False
    is_last: bool = False  # the climb ends here if no length leads up


@serializable("climb-curvature")
@dataclass(frozen=True, eq=False)
class Curvature:
    """Second differences along the columns of the root, and along the sums of two."""


@serializable("climb-top")
@dataclass(frozen=True, eq=False)
class Top:
    """The end: the root is that of the covariance of the Gaussian that has the same curvature."""


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
    root : (d, d) array
        Of the inverse Hessian of minus the function, as it was learned so far.
    last_top : float
        The value where second differences were last made.
    num_at_top : int
        Times that these were made, and the climb came no higher.
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
    root: Array
    phase: Phase
    last_top: float = -np.inf
    num_at_top: int = 0
    num_steps: int = 0
    num_evals: int = 0
    max_curvature_evals: int = field(default=10**9)

    @property
    def is_done(self) -> bool:
        """Whether it is at its top, and the Gaussian there is known."""
        return isinstance(self.phase, Top)

    @property
    def can_measure(self) -> bool:
        """Whether second differences are not too many."""
        return num_second_differences(len(self.point)) <= self.max_curvature_evals

    @property
    def is_measured(self) -> bool:
        """Whether second differences were made."""
        return bool(np.isfinite(self.last_top))

    @property
    def has_moved(self) -> bool:
        """Whether it has made a step, or is done."""
        return not (isinstance(self.phase, Slope | Line) and self.num_steps == 0)

    @property
    def covariance(self) -> Array:
        """Of the Gaussian at the top, or what is known of it so far."""
        return np.asarray(self.root @ self.root.T)

    def stop(self) -> Climb:
        """The climb ended where it is, with the Gaussian that BFGS has learned."""
        return replace(self, phase=Top())

    def ask(self) -> Array:
        """The points of this phase, (m, d)."""
        match self.phase:
            case Slope(step, is_central):
                steps = step * self.root.T
                points = self.point + (np.concatenate([steps, -steps]) if is_central else steps)
                return np.concatenate([self.point[None], points]) if np.isnan(self.value) else points
            case Line(direction, lengths):
                return np.asarray(self.point + lengths[:, None] * direction)
            case Curvature():
                return np.asarray(self.point + _second_difference_steps(self.root))
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
                return _learn_curvature(climb, values)
            case Top():
                return self


def start_climb(point: Array, max_curvature_evals: int = 10**9) -> Climb:
    """A climb from a point."""
    slope = Slope(_FIRST_STEP, is_central=True)
    return Climb(point, np.nan, np.eye(len(point)), slope, max_curvature_evals=max_curvature_evals)


def num_second_differences(dimension: int) -> int:
    """Evaluations that the curvature takes."""
    return dimension * (dimension + 3) // 2


# -- slope -------------------------------------------------------------------------------------------------------------


def _learn_slope(climb: Climb, phase: Slope, values: Array) -> Climb:
    """What differences tell of the gradient and the root; where one fails it counts as flat."""
    if np.isnan(climb.value):
        climb, values = replace(climb, value=float(values[0])), values[1:]
        if not np.isfinite(climb.value):
            return climb.stop()
    differences = values - climb.value
    curvatures = np.ones(len(climb.point))
    if phase.is_central:
        there, back = np.split(differences, 2)
        slope = _average_slope(there, back) / phase.step
        curvatures = _second_differences_along(there, back) / phase.step**2
    else:
        slope = np.where(np.isfinite(differences), differences, 0.0) / phase.step
    gradient = np.asarray(np.linalg.solve(climb.root.T, slope), dtype=np.float64)
    climb = _update(_stretch(climb, curvatures, phase), phase.before, gradient)
    return _decide(climb, phase, gradient, curvatures)


def _average_slope(there: Array, back: Array) -> Array:
    """One of the two, if the other leaves the support."""
    there_inside, back_inside = np.isfinite(there), np.isfinite(back)
    total = np.where(there_inside, there, 0.0) - np.where(back_inside, back, 0.0)
    return np.asarray(total / np.maximum(there_inside.astype(int) + back_inside, 1))


def _second_differences_along(there: Array, back: Array) -> Array:
    """Minus the second differences; where one leaves the support, those of a step of one."""
    total = -(there + back)
    return np.where(np.isfinite(total), total, 1.0)


def _stretch(climb: Climb, curvatures: Array, phase: Slope) -> Climb:
    """Columns as long as their curvatures say, but at most five times as long; at first none is longer than one."""
    lowest, highest = (1.0, np.inf) if phase.is_first else (_CURVATURES[0], 1 / _CURVATURES[0])
    return replace(climb, root=climb.root / np.sqrt(np.clip(np.abs(curvatures), lowest, highest)))


def _update(climb: Climb, before: tuple[Array, Array] | None, gradient: Array) -> Climb:
    """BFGS, with the change of minus the gradient; nothing is learned where the function is not concave."""
    if before is None:
        return climb
    step, change = climb.point - before[0], before[1] - gradient
    along = float(step @ change)
    if along <= 1e-10 * np.linalg.norm(step) * np.linalg.norm(change):
        return climb
    left = climb.root - np.outer(step, change @ climb.root) / along
    return replace(climb, root=regular_root(left @ left.T + np.outer(step, step) / along))


def _decide(climb: Climb, phase: Slope, gradient: Array, curvatures: Array) -> Climb:
    """The ray to look along; if the quadratic promises next to nothing, central differences or the top."""
    direction = climb.root.T @ gradient
    promised = 0.5 * float(direction @ direction)
    if promised > (0.0 if phase.is_first else _MIN_GAIN):
        line = _line(climb, gradient, is_central=phase.is_central and not phase.is_first)
        return replace(climb, phase=replace(line, is_last=phase.is_last))
    if phase.is_last:
        return climb.stop()
    if not phase.is_central:
        return replace(climb, phase=Slope(_CENTRAL_STEP, is_central=True, before=phase.before))
    is_regular = bool(((curvatures > _CURVATURES[0]) & (curvatures < _CURVATURES[1])).all())
    if is_regular or phase.num_stretched >= _MAX_STRETCHED or promised == 0.0:
        return _measure(climb)
    return replace(climb, phase=Slope(_CENTRAL_STEP, is_central=True, num_stretched=phase.num_stretched + 1))


# -- line --------------------------------------------------------------------------------------------------------------


def _line(climb: Climb, gradient: Array, *, is_central: bool) -> Line:
    """A ray along which no step is longer than the start is wide, by and large."""
    direction = climb.root @ (climb.root.T @ gradient)
    longest = _MAX_STEP / max(float(np.linalg.norm(direction)), 1e-300)
    lengths = np.minimum(LENGTHS, longest) if longest > 1 else longest / LENGTHS[-1] * LENGTHS
    return Line(direction, lengths, gradient, is_central)


def _step(climb: Climb, phase: Line, values: Array) -> Climb:
    """To the best point of the ray; if none is better, shorter steps, then central differences, then the top."""
    best = int(np.argmax(values))
    gain = float(values[best]) - climb.value
    if gain > 0:
        point = climb.point + phase.lengths[best] * phase.direction
        before = (climb.point, phase.gradient)
        climb = replace(climb, point=point, value=float(values[best]), num_steps=climb.num_steps + 1)
        return _decide_after_step(climb, gain, phase, before)
    if not phase.is_shorter:
        return replace(climb, phase=replace(phase, lengths=_SHORTER * phase.lengths, is_shorter=True))
    if phase.is_last:
        return climb.stop()
    if climb.value == climb.last_top:
        return _look_closely(climb)
    return _measure(climb) if phase.is_central else replace(climb, phase=Slope(_CENTRAL_STEP, is_central=True))


def _look_closely(climb: Climb) -> Climb:
    """Small differences: on a sharp ridge, those at one standard deviation look like a top."""
    return replace(climb, phase=Slope(_FORWARD_STEP, is_central=False, is_last=True))


def _decide_after_step(climb: Climb, gain: float, line: Line, before: tuple[Array, Array]) -> Climb:
    """On, by forward differences; for the last time if second differences kept a promise; or measure."""
    if abs(gain - line.promised) < _KEPT * line.promised:
        return replace(climb, phase=Slope(_FORWARD_STEP, is_central=False, before=before, is_last=True))
    if line.is_shorter and gain < _MIN_GAIN_PER_DIMENSION * len(climb.point):  # the root is too long
        return replace(climb, phase=Slope(_CENTRAL_STEP, is_central=True, before=before))
    is_at_top = climb.is_measured and climb.value < climb.last_top + _TYPICAL * len(climb.point)
    if is_at_top and gain < _MIN_GAIN:
        return climb.stop()
    if not is_at_top and gain < _MIN_GAIN_PER_DIMENSION * len(climb.point) and climb.can_measure:
        return _measure(climb)
    if gain < _MIN_GAIN:
        return replace(climb, phase=Slope(_CENTRAL_STEP, is_central=True, before=before))
    return replace(climb, phase=Slope(_FORWARD_STEP, is_central=False, before=before))


# -- curvature ---------------------------------------------------------------------------------------------------------


def _measure(climb: Climb) -> Climb:
    return replace(climb, phase=Curvature()) if climb.can_measure else climb.stop()


def _second_difference_steps(root: Array) -> Array:
    """There and back along every column, and along the sums of two."""
    columns, (first, second) = root.T, np.triu_indices(len(root), 1)
    return np.concatenate([columns, -columns, columns[first] + columns[second]])


def _learn_curvature(climb: Climb, values: Array) -> Climb:
    """The Gaussian at the top, unless what was measured promises a higher one, or a direction is much wider."""
    values = np.maximum(values, climb.value - _OUTSIDE)
    hessian, slope = _second_differences(climb.value, values)
    measured, vectors = np.linalg.eigh(hessian)
    curvatures = np.maximum(np.abs(measured), _MIN_CURVATURE)
    old_root, root = climb.root, climb.root @ (vectors / np.sqrt(curvatures))
    promised = 0.5 * float(((vectors.T @ slope) ** 2 / curvatures).sum())
    is_higher = max(promised, float(values.max()) - climb.value) > _HIGHER
    is_wider = measured.min() < _MIN_CURVATURE and np.abs(climb.root).max() < _MAX_STEP
    gradient = np.asarray(np.linalg.solve(climb.root.T, slope))
    number = 1 if climb.value > climb.last_top + _TYPICAL * len(slope) else climb.num_at_top + 1
    climb = replace(climb, root=root, last_top=climb.value, num_at_top=number)
    if number >= _MAX_AT_TOP:
        return climb.stop()
    if not (is_higher or is_wider):
        return _look_closely(climb)
    if values.max() - climb.value > promised:
        return _go_to(climb, climb.point + _second_difference_steps(old_root)[values.argmax()], values.max())
    line = replace(_line(climb, gradient, is_central=True), promised=np.nan if is_wider else promised)
    return replace(climb, phase=line if is_higher else Curvature())


def _go_to(climb: Climb, point: Array, value: float) -> Climb:
    """To a higher point that second differences came upon."""
    climb = replace(climb, point=point, value=float(value), num_steps=climb.num_steps + 1)
    return replace(climb, phase=Slope(_FORWARD_STEP, is_central=False))


def _second_differences(value: float, values: Array) -> tuple[Array, Array]:
    """Minus the Hessian, and the gradient, in the coordinates of the steps."""
    dimension = round(np.sqrt(2 * len(values) + 2.25) - 1.5)
    there, back, sums = np.split(value - values, [dimension, 2 * dimension])
    hessian = np.zeros((dimension, dimension))
    first, second = np.triu_indices(dimension, 1)
    hessian[first, second] = sums - there[first] - there[second]
    return np.asarray(hessian + hessian.T + np.diag(there + back)), 0.5 * (back - there)


def regular_root(covariance: Array) -> Array:
    """A root of the covariance, in no direction so narrow that it cannot be inverted."""
    variances, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return np.asarray(vectors * np.sqrt(np.maximum(variances, max(_MIN_VARIANCE * variances.max(), 1e-300))))
