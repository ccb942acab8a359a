r"""Bounded parameters as free ones: samplers move in :math:`\mathbb R^m`, users write in their own units.

Every parameter x is a smooth function of one free number z (an angle of two), and the density that samplers see is the
user's, pulled back:

.. math:: \log \tilde p(z) = \log p(x(z)) + \log \Big| \frac{dx}{dz} \Big|,

so that the particles' x have the density p. For an angle the second free number is a radius, and the last term its
density: :math:`x = \operatorname{atan2}(z_2, z_1)` and :math:`-\tfrac12 \|z\|^2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy

from steinbox.common.arrays import Array, Mask, RNGLike
from steinbox.maps.bijection import Bijection

_MAX_EXPONENT = 300.0  # of e: squares of numbers as large are finite still


class Parameter(Protocol):
    """How one parameter follows from its free numbers, an (n, k) array; see :mod:`steinbox.maps.bijection`."""

    @property
    def num_free(self) -> int:
        """The number k of free numbers."""
        ...

    def forward(self, z: Array) -> Array:
        """The parameter, (n,); never a bound itself (an angle may be the lower one)."""
        ...

    def inverse(self, x: Array, rng: np.random.Generator) -> Array:
        """Free numbers, (n, k), that lead to the parameter."""
        ...

    def slope(self, z: Array) -> Array:
        """Derivatives of the parameter, (n, k)."""
        ...

    def log_det(self, z: Array) -> Array:
        """The last term of the density above, (n,)."""
        ...

    def log_det_slope(self, z: Array) -> Array:
        """Its derivatives, (n, k)."""
        ...

    def inside(self, x: Array) -> Mask:
        """Which values of the parameter are possible."""
        ...


@dataclass(frozen=True)
class Free:
    """No bound: x = z."""

    num_free: int = 1

    def forward(self, z: Array) -> Array:
        return z[:, 0]

    def inverse(self, x: Array, rng: np.random.Generator) -> Array:
        return x[:, None]

    def slope(self, z: Array) -> Array:
        return np.ones_like(z)

    def log_det(self, z: Array) -> Array:
        return np.zeros(len(z))

    def log_det_slope(self, z: Array) -> Array:
        return np.zeros_like(z)

    def inside(self, x: Array) -> Mask:
        return np.isfinite(x)


@dataclass(frozen=True)
class OneSided:
    r"""One bound b: :math:`x = b \pm e^z`."""

    bound: float
    sign: float
    num_free: int = 1

    def forward(self, z: Array) -> Array:
        nearest = np.nextafter(self.bound, self.sign * np.inf)
        x = self.bound + self.sign * np.exp(np.clip(z[:, 0], None, _MAX_EXPONENT))
        return np.maximum(x, nearest) if self.sign > 0 else np.minimum(x, nearest)

    def inverse(self, x: Array, rng: np.random.Generator) -> Array:
        return np.log(self.sign * (x - self.bound))[:, None]

    def slope(self, z: Array) -> Array:
        return np.asarray(self.sign * np.exp(np.clip(z, None, _MAX_EXPONENT)))

    def log_det(self, z: Array) -> Array:
        return z[:, 0]

    def log_det_slope(self, z: Array) -> Array:
        return np.ones_like(z)

    def inside(self, x: Array) -> Mask:
        return np.asarray((self.sign * (x - self.bound) > 0) & np.isfinite(x))


@dataclass(frozen=True)
class Between:
    r"""Two bounds: :math:`x = a + (b - a) / (1 + e^{-z})`."""

    low: float
    high: float
    num_free: int = 1

    def forward(self, z: Array) -> Array:
        up = scipy.special.expit(z[:, 0])
        x = scipy.special.expit(-z[:, 0]) * self.low + up * self.high  # exact near a bound that is zero
        return np.clip(x, np.nextafter(self.low, np.inf), np.nextafter(self.high, -np.inf))

    def inverse(self, x: Array, rng: np.random.Generator) -> Array:
        return np.asarray(np.log(x - self.low) - np.log(self.high - x))[:, None]

    def slope(self, z: Array) -> Array:
        return np.asarray((self.high - self.low) * scipy.special.expit(z) * scipy.special.expit(-z))

    def log_det(self, z: Array) -> Array:
        log_low, log_high = scipy.special.log_expit(z[:, 0]), scipy.special.log_expit(-z[:, 0])
        return np.asarray(np.log(self.high - self.low) + log_low + log_high)

    def log_det_slope(self, z: Array) -> Array:
        return np.asarray(scipy.special.expit(-z) - scipy.special.expit(z))

    def inside(self, x: Array) -> Mask:
        return np.asarray((self.low < x) & (x < self.high))


@dataclass(frozen=True)
class Periodic:
    """An angle, or anything else whose ends are one: an entry of ``bounds=``.

    Examples
    --------
    >>> Periodic(0, 360)
    Periodic(low=0, high=360)
    """

    low: float
    high: float

    @property
    def num_free(self) -> int:
        """Two: a point of the plane, whose direction is the angle."""
        return 2

    def forward(self, z: Array) -> Array:
        turn = np.arctan2(z[:, 1], z[:, 0]) / (2 * np.pi)
        x = self.low + (self.high - self.low) * (turn % 1.0)
        return np.clip(x, self.low, np.nextafter(self.high, -np.inf))

    def inverse(self, x: Array, rng: np.random.Generator) -> Array:
        angle = 2 * np.pi * (x - self.low) / (self.high - self.low)
        radius = np.sqrt(2 * rng.standard_exponential(len(x)))
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    def slope(self, z: Array) -> Array:
        unit = (self.high - self.low) / (2 * np.pi)
        return np.asarray(unit * np.column_stack([-z[:, 1], z[:, 0]]) / (z**2).sum(axis=1, keepdims=True))

    def log_det(self, z: Array) -> Array:
        return np.asarray(np.log((self.high - self.low) / (2 * np.pi)) - 0.5 * (z**2).sum(axis=1))

    def log_det_slope(self, z: Array) -> Array:
        return np.negative(z)

    def inside(self, x: Array) -> Mask:
        return np.isfinite(x)  # any angle is one

    def wrap(self, x: Array) -> Array:
        """The same angles, from low to high."""
        return np.asarray(self.low + (x - self.low) % (self.high - self.low))

    def unwrap(self, x: Array, weights: Array) -> Array:
        """The same angles, each within half a turn of their mean direction."""
        turn = self.high - self.low
        direction = np.angle(weights @ np.exp(2j * np.pi * (x - self.low) / turn))
        mean = self.low + turn * direction / (2 * np.pi)
        return np.asarray(mean + (x - mean + turn / 2) % turn - turn / 2)


@dataclass(frozen=True)
class Bounds(Bijection):
    """The parameters side by side: ``forward`` leads from free points, (n, m), to the user's, (n, d).

    It is a bijection unless a parameter is an angle, which follows from two free numbers and not from their radius.
    Then ``forward(inverse(x, rng))`` is still x, but ``inverse`` draws the radius with ``rng``, and ``log_det`` holds
    the logarithm of the radius's density too, so that free points have the right density all the same.

    Examples
    --------
    >>> import numpy as np
    >>> bounds = Bounds((Between(0.0, 1.0), OneSided(5.0, 1.0)))
    >>> bounds.forward(np.array([[0.0, 0.0]])), bounds.inverse(np.array([[0.5, 6.0]]))
    (array([[0.5, 6. ]]), array([[0., 0.]]))
    """

    parameters: tuple[Parameter, ...]

    @property
    def is_curved(self) -> bool:
        """Whether any parameter has a bound."""
        return not all(isinstance(parameter, Free) for parameter in self.parameters)

    @property
    def num_free(self) -> int:
        """The number m of free numbers."""
        return sum(parameter.num_free for parameter in self.parameters)

    def forward(self, points: Array) -> Array:
        """The user's parameters at free points."""
        return np.column_stack([parameter.forward(part) for parameter, part in self._parts(points)])

    def inverse(self, images: Array, rng: RNGLike = None) -> Array:
        """Free points that lead to the user's; ``rng`` draws the radii of angles."""
        rng = np.random.default_rng(rng)
        return np.column_stack([each.inverse(images[:, k], rng) for k, each in enumerate(self.parameters)])

    def log_det(self, points: Array) -> Array:
        """What is added to the user's log-density, (n,)."""
        return np.asarray(sum(parameter.log_det(part) for parameter, part in self._parts(points)))

    def pull_back_score(self, points: Array, score: Array) -> Array:
        """The score at free points, from that of the user's parameters."""
        return np.column_stack(
            [
                score[:, k, None] * parameter.slope(part) + parameter.log_det_slope(part)
                for k, (parameter, part) in enumerate(self._parts(points))
            ]
        )

    def inside(self, images: Array) -> Mask:
        """Which of the user's points are possible."""
        return np.asarray(np.all([each.inside(images[:, k]) for k, each in enumerate(self.parameters)], axis=0))

    def unwrap(self, x: Array, weights: Array) -> Array:
        """The points with every angle within half a turn of its mean direction."""
        columns = [
            each.unwrap(x[:, k], weights) if isinstance(each, Periodic) else x[:, k]
            for k, each in enumerate(self.parameters)
        ]
        return np.column_stack(columns)

    def wrap(self, x: Array) -> Array:
        """Points, or one point, with every angle from low to high."""
        result = x.copy()
        for k, each in enumerate(self.parameters):
            if isinstance(each, Periodic):
                result[..., k] = each.wrap(x[..., k])
        return result

    def to_json(self) -> list[Any]:
        """What :meth:`from_json` understands, once JSON has held it."""
        return [_entry(parameter) for parameter in self.parameters]

    @classmethod
    def from_json(cls, entries: list[Any]) -> Bounds:
        """Bounds from what :meth:`to_json` returned."""
        return cls(tuple(_parameter(entry) for entry in entries))

    def _parts(self, z: Array) -> list[tuple[Parameter, Array]]:
        ends = np.cumsum([parameter.num_free for parameter in self.parameters])
        return list(zip(self.parameters, np.split(z, ends[:-1], axis=1), strict=True))


def as_bounds(bounds: Sequence[object] | None) -> Bounds | None:
    """Understand ``bounds=``: one entry per parameter, None, (low, high) or Periodic."""
    if bounds is None:
        return None
    if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) == 0:
        raise TypeError(f"expected bounds to be a list of (low, high), one for each parameter, got {bounds!r}")
    _refuse_ambiguous(bounds)
    try:
        parameters = tuple(_parameter(entry) for entry in bounds)
    except (TypeError, ValueError) as error:
        hint = ". If these are (lows, highs), write list(zip(lows, highs))" if _looks_like_columns(bounds) else ""
        raise type(error)(f"{error}{hint}") from None
    return None if all(isinstance(parameter, Free) for parameter in parameters) else Bounds(parameters)


def _looks_like_columns(bounds: Sequence[object]) -> bool:
    """Whether the entries may be the lows and the highs: two lists or arrays of the same length."""
    if len(bounds) != 2 or not all(isinstance(entry, list | np.ndarray) for entry in bounds):
        return False
    return len(bounds[0]) == len(bounds[1])  # type: ignore[arg-type]


def _refuse_ambiguous(bounds: Sequence[object]) -> None:
    """Refuse two lists of two numbers that make sense both ways: a (low, high) for each of two, or (lows, highs)."""
    if not _looks_like_columns(bounds):
        return
    pairs: list[tuple[Any, ...]] = [tuple(np.asarray(entry).tolist()) for entry in bounds]
    columns = list(zip(*pairs, strict=True))
    try:
        for entry in (*pairs, *columns):
            _parameter(entry)
    except (TypeError, ValueError):
        return  # one of the readings makes no sense
    raise ValueError(
        f"bounds={bounds!r} can be read as a (low, high) for each parameter or as (lows, highs): write {pairs} or "
        f"{columns}"
    )


def _entry(parameter: Parameter) -> Any:
    match parameter:
        case Between(low, high):
            return [low, high]
        case Periodic(low, high):
            return {"periodic": [low, high]}
        case OneSided(bound, sign):
            return [bound, None] if sign > 0 else [None, bound]
    return None


def _parameter(entry: object) -> Parameter:
    if entry is None:
        return Free()
    if isinstance(entry, dict) and set(entry) == {"periodic"}:
        return _parameter(Periodic(*entry["periodic"]))
    periodic = isinstance(entry, Periodic)
    pair: object = (entry.low, entry.high) if isinstance(entry, Periodic) else entry
    try:
        low, high = (
            end if number is None else float(number)
            for number, end in zip(pair, (-np.inf, np.inf), strict=True)  # type: ignore[call-overload]
        )
    except (TypeError, ValueError):
        forms = "(low, high), sb.Periodic(low, high) or None"
        raise TypeError(f"expected bounds of the form {forms} for each parameter, got {entry!r}") from None
    if not low < high or low == np.inf or high == -np.inf or (periodic and not np.isfinite(high - low)):
        raise ValueError(f"expected bounds with low < high{', both finite' if periodic else ''}, got {entry!r}")
    if (np.isfinite(low) and np.isfinite(high)) and not np.nextafter(low, high) < np.nextafter(high, low) < low + 1e300:
        raise ValueError(f"expected bounds with numbers between them, and less than 1e300 apart, got {entry!r}")
    if periodic:
        return Periodic(low, high)
    if np.isfinite(low) and np.isfinite(high):
        return Between(low, high)
    if np.isfinite(low):
        return OneSided(low, 1.0)
    return OneSided(high, -1.0) if np.isfinite(high) else Free()
