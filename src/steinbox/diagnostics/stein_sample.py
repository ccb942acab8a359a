r"""What all Stein diagnostics share: a sample with scores and weights, and the kernel that measures it.

The target enters in one of two ways. With its score s the Stein kernel is :math:`\kappa_p`. Without it,
the score is that of a surrogate :math:`\rho`, and importance weights :math:`w = \rho / p` correct for it (Theorem 2 of
Han & Liu, 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.checks import require_component
from steinbox.diagnostics.inputs import Values, as_log_prob, as_points, as_score, as_weights
from steinbox.maps.coordinates import Coordinates, Whitened
from steinbox.numerics.bandwidth import Fixed, Rule, as_rule
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.pairwise import MatrixSteinKernel, SteinKernel
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.surrogates.base import Surrogate, as_builder, as_values, evaluate
from steinbox.surrogates.cross_validated import LeaveOneOut, SampleSurrogate
from steinbox.surrogates.weight_fields import MatrixWeights, as_weight_field

KERNEL, COORDINATES = RBF(), Whitened()  # the defaults of all Stein diagnostics
_LEAVE_ONE_OUT = LeaveOneOut()


class _AtTheSample:
    """A surrogate that is known at the points of the sample only."""

    def log_prob(self, points: Array) -> Array:
        raise ValueError("this weight looks at the surrogate beside the points: give surrogate=, such as Interpolant()")

    score = log_prob


_AT_THE_SAMPLE = _AtTheSample()
# an effective sample size below this fraction of the points, or below this many, makes the numbers meaningless
_MIN_SIZE_FRACTION, _MIN_SIZE = 0.1, 10.0


@dataclass(frozen=True)
class Metric:
    """The kernel of a Stein discrepancy: its profile, its bandwidth and the coordinates it acts in.

    The last two are fitted to a reference sample: only numbers that share it can be compared. Copies of a point, as a
    Markov chain has them, do not make the bandwidth smaller.
    """

    kernel: Kernel = KERNEL
    bandwidth: float | str | Rule = "median"
    coordinates: Coordinates = COORDINATES

    def __post_init__(self) -> None:
        require_component("kernel", self.kernel, "curvature_ratio", "RBF()")
        require_component("coordinates", self.coordinates, "fit", "Whitened()")
        as_rule(self.bandwidth)

    def stein_kernel(self, sample: SteinSample, reference: Array | None = None) -> SteinKernel:
        """The Stein kernel of a sample; the reference is the sample itself if not given."""
        reference = sample.points if reference is None else reference
        if reference.shape[1] != sample.points.shape[1]:
            dimension = sample.points.shape[1]
            raise ValueError(f"expected a reference of dimension {dimension}, as the points, got {reference.shape[1]}")
        coordinates = self.coordinates.fit(reference)
        first = np.sort(np.unique(reference, axis=0, return_index=True)[1])  # a chain that stands still has no scale
        bandwidth = Fixed(as_rule(self.bandwidth)(coordinates.forward(reference[first]))).bandwidth
        z, score = coordinates.forward(sample.points), coordinates.push_score(sample.score)
        if sample.matrices is None:
            return SteinKernel(z, score, sample.weights, self.kernel, bandwidth)
        field = sample.matrices.push(coordinates.inverse_root)
        return MatrixSteinKernel(z, field.drift(score), field.matrices, sample.weights, self.kernel, bandwidth)


@dataclass(frozen=True, eq=False)
class SteinSample:
    """A sample with the scores and weights of a Stein discrepancy.

    Attributes
    ----------
    points : (m, d) array
        Those inside the target's support.
    indices : (m,) array
        Their rows among the points given.
    log_prob : (m,) array
        The target's log-density at them; zero if it was not given.
    score : (m, d) array
        Of the target, or of the surrogate.
    sample_weights : (m,) array
        The sample's own weights, normalized.
    weights : (m,) array
        The same times the importance weights, normalized.
    num_outside : int
        How many points of positive weight lie outside the support.
    warnings : tuple of str
        Reasons not to trust numbers about this sample.
    judge : str
        What the score is of: "the score given", or the name of the surrogate.
    matrices : MatrixWeights or None
        Matrix-valued weights, if there are any.
    """

    points: Array
    indices: IntegerArray
    log_prob: Array
    score: Array
    sample_weights: Array
    weights: Array
    num_outside: int = 0
    warnings: tuple[str, ...] = ()
    judge: str = "the score given"
    matrices: MatrixWeights | None = None

    @property
    def effective_sample_size(self) -> float:
        """Kish's, of ``weights``."""
        return effective_sample_size(self.weights)


def make_stein_sample(
    points: npt.ArrayLike,
    log_prob: Values | None,
    *,
    score: Values | None = None,
    surrogate: object | None = None,
    weights: npt.ArrayLike | None = None,
    default: SampleSurrogate = _LEAVE_ONE_OUT,
    weight: object | None = None,
) -> SteinSample:
    """Check a sample and attach the target's score if there is one, else a surrogate's with importance weights."""
    if score is not None and surrogate is not None:
        raise ValueError("expected a score or a surrogate, got both: with a score no surrogate is needed")
    if score is None and log_prob is None:
        raise ValueError("expected log_prob or score, got neither")
    x = as_points("points", points)
    sample_weights = as_weights(weights, len(x))
    values = np.zeros(len(x)) if log_prob is None else as_log_prob(log_prob, x)
    indices, num_outside = _points_inside(x, values, sample_weights)
    sample_weights = sample_weights[indices] / sample_weights[indices].sum()
    warnings = (*_outside_warning(num_outside, len(x)), *_sample_weights_warning(sample_weights))
    field = as_weight_field(weight)
    if score is not None:
        return SteinSample(
            x[indices],
            indices,
            values[indices],
            as_score(score, x, indices),
            sample_weights,
            sample_weights,
            num_outside,
            warnings,
            matrices=None if field is None else field.evaluate(x[indices], _AT_THE_SAMPLE),
        )
    used = default if surrogate is None else surrogate
    log_ratio, scores, density = _log_ratio(x[indices], values[indices], used)
    with np.errstate(divide="ignore"):  # the logarithm of a weight of zero
        combined = normalize(log_ratio + np.log(sample_weights))
    warnings = (*warnings, *_ratio_warning(log_ratio, combined, sample_weights))
    scores = np.where(combined[:, None] > 0, scores, 0.0)
    judge = f"the surrogate {type(used).__name__}"
    matrices = None if field is None else field.evaluate(x[indices], density)
    return SteinSample(
        x[indices], indices, values[indices], scores, sample_weights, combined, num_outside, warnings, judge, matrices
    )


def _points_inside(points: Array, values: Array, weights: Array) -> tuple[IntegerArray, int]:
    """The indices of the points inside the support, and how many of positive weight lie outside."""
    counts, inside = weights > 0, np.isfinite(values)
    if (num_usable := int((counts & inside).sum())) < 2:
        raise ValueError(f"expected at least two points inside the support and of positive weight, got {num_usable}")
    indices = np.flatnonzero(inside)
    if (points[indices] == points[indices[0]]).all():
        raise ValueError(f"expected points that differ, got {len(indices)} copies of one")
    return indices, int((counts & ~inside).sum())


def _log_ratio(points: Array, log_prob: Array, surrogate: object) -> tuple[Array, Array, Surrogate]:
    r"""The log-weights :math:`\log\rho - \log p`, the surrogate's score, and the surrogate."""
    density: Surrogate = _AT_THE_SAMPLE
    if isinstance(surrogate, SampleSurrogate) and not isinstance(surrogate, type):
        log_surrogate, score = as_values(*surrogate.evaluate_sample(points, log_prob), points)
    else:
        density = as_builder(surrogate).build(points, log_prob, len(points))
        log_surrogate, score = evaluate(density, points)
    if np.isnan(log_surrogate).any() or (log_surrogate == np.inf).any() or not np.isfinite(score).all():
        raise ValueError("expected the surrogate to have a log-density below +inf and a finite score at every point")
    if not np.isfinite(log_surrogate).any():
        raise ValueError("all weights ρ/p are zero: the surrogate's density vanishes at every point")
    return log_surrogate - log_prob, score, density


def _outside_warning(num_outside: int, num_points: int) -> Iterator[str]:
    if num_outside:
        yield (
            f"{num_outside} of {num_points} points lie outside the support of the target, so they cannot come from it; "
            "the numbers describe the others, and are meaningless if the density does not fall to zero at the edge."
        )


def _sample_weights_warning(sample_weights: Array) -> Iterator[str]:
    size, num_points = effective_sample_size(sample_weights), int((sample_weights > 0).sum())
    if _is_small(size, num_points):
        yield f"The weights of {num_points} points have an effective sample size of {size:.1f}, too small to rely on."


def _ratio_warning(log_ratio: Array, weights: Array, sample_weights: Array) -> Iterator[str]:
    size = effective_sample_size(weights)
    available = effective_sample_size(sample_weights)
    if _is_small(size, available):
        spread = np.ptp(log_ratio[np.isfinite(log_ratio)])
        yield (
            f"log ρ − log p spans {spread:.3g} nats, and the effective sample size is {size:.1f} of {available:.4g}, "
            "too small to rely on. A surrogate closer to the target, or more points, would help."
        )


def _is_small(size: float, available: float) -> bool:
    """Whether an effective sample size is too small for meaningful numbers."""
    return size < max(_MIN_SIZE_FRACTION * available, min(_MIN_SIZE, available / 2))
