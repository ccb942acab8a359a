r"""What all Stein tools here share: a sample weighed against the target, and the kernel they measure it with.

The target enters in one of two ways. With its score s the Stein kernel is :math:`\kappa_p`. Without, a surrogate
:math:`\rho` lends its score, and importance weights :math:`w = \rho / p` make up for it (Theorem 2 of Han & Liu, 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.checks import require_component
from steinbox.diagnostics.inputs import Values, as_log_target, as_points, as_score, as_weights
from steinbox.maps.coordinates import Coordinates, Whitened
from steinbox.numerics.bandwidth import Fixed, Rule, as_rule
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.pairwise import SteinKernel
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.surrogates.base import as_builder, checked, evaluate
from steinbox.surrogates.cross_validated import LeaveOneOut, SampleSurrogate

KERNEL, COORDINATES = RBF(), Whitened()  # the defaults of all Stein tools
_LEAVE_ONE_OUT = LeaveOneOut()
_LEAST_SHARE, _LEAST_SIZE = 0.1, 10.0  # below these an effective sample size makes the numbers meaningless


@dataclass(frozen=True)
class Metric:
    """The kernel of a Stein discrepancy: its profile, its bandwidth and the coordinates it lives in.

    The last two are fitted to a reference sample: only numbers that share it can be compared.
    """

    kernel: Kernel = KERNEL
    bandwidth: float | str | Rule = "median"
    coordinates: Coordinates = COORDINATES

    def __post_init__(self) -> None:
        require_component("kernel", self.kernel, "curvature_ratio", "RBF()")
        require_component("coordinates", self.coordinates, "fit", "Whitened()")
        as_rule(self.bandwidth)

    def stein_kernel(self, sample: SteinSample, reference: Array | None = None) -> SteinKernel:
        """The Stein kernels of a sample; the reference is the sample itself if not given."""
        reference = sample.points if reference is None else reference
        if reference.shape[1] != sample.points.shape[1]:
            raise ValueError(
                f"expected a reference of dimension {sample.points.shape[1]}, as x has, got {reference.shape[1]}"
            )
        coordinates = self.coordinates.fit(reference)
        bandwidth = Fixed(as_rule(self.bandwidth)(coordinates.forward(reference))).bandwidth
        z, score = coordinates.forward(sample.points), coordinates.push_score(sample.score)
        return SteinKernel(z, score, sample.weights, self.kernel, bandwidth)


@dataclass(frozen=True, eq=False)
class SteinSample:
    """A sample, weighed against a target.

    Attributes
    ----------
    points : (m, d) array
        Those inside the target's support.
    indices : (m,) array
        Where they were among the points given.
    score : (m, d) array
        Of the target, or of the surrogate.
    sample_weights : (m,) array
        What the sample came with, normalised.
    weights : (m,) array
        Times the importance weights, normalised.
    num_outside : int
        How many points of positive weight lie outside the support.
    warnings : tuple of str
        What makes numbers about this sample doubtful.
    """

    points: Array
    indices: IntegerArray
    score: Array
    sample_weights: Array
    weights: Array
    num_outside: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def effective_sample_size(self) -> float:
        """Kish's, of all weights together."""
        return effective_sample_size(self.weights)


def weigh(
    x: npt.ArrayLike,
    log_target: Values | None,
    *,
    score: Values | None = None,
    surrogate: object | None = None,
    weights: npt.ArrayLike | None = None,
    default: SampleSurrogate = _LEAVE_ONE_OUT,
) -> SteinSample:
    """Weigh a sample by the target's score if there is one, else by its values and a surrogate."""
    if score is not None and surrogate is not None:
        raise ValueError("expected a score or a surrogate, got both: with a score no surrogate is needed")
    if score is None and log_target is None:
        raise ValueError("expected log-densities of the target, or its score")
    x = as_points("x", x)
    sample_weights = as_weights(weights, len(x))
    values = np.zeros(len(x)) if log_target is None else as_log_target(log_target, x)
    counts, inside = sample_weights > 0, np.isfinite(values)
    if (num_usable := int((counts & inside).sum())) < 2:
        raise ValueError(f"expected at least two points inside the support and of positive weight, got {num_usable}")
    indices = np.flatnonzero(inside)
    points, num_outside = x[indices], int((counts & ~inside).sum())
    if (points == points[0]).all():
        raise ValueError(f"expected points that differ: all {len(points)} coincide")
    sample_weights = sample_weights[indices] / sample_weights[indices].sum()
    if score is not None:
        doubts = (*_outside_doubt(num_outside, len(x)), *_sample_doubt(sample_weights))
        scores = as_score(score, x, indices)
        return SteinSample(points, indices, scores, sample_weights, sample_weights, num_outside, doubts)
    log_ratio, surrogate_score = _log_ratio(points, values[indices], default if surrogate is None else surrogate)
    with np.errstate(divide="ignore"):  # the logarithm of a weight of zero
        combined = normalize(log_ratio + np.log(sample_weights))
    doubts = (
        *_outside_doubt(num_outside, len(x)),
        *_sample_doubt(sample_weights),
        *_ratio_doubt(log_ratio, combined, sample_weights),
    )
    surrogate_score = np.where(combined[:, None] > 0, surrogate_score, 0.0)
    return SteinSample(points, indices, surrogate_score, sample_weights, combined, num_outside, doubts)


def _log_ratio(points: Array, log_target: Array, surrogate: object) -> tuple[Array, Array]:
    r"""The log-weights :math:`\log\rho - \log p`, and the surrogate's score."""
    if isinstance(surrogate, SampleSurrogate) and not isinstance(surrogate, type):
        log_surrogate, score = checked(*surrogate.judge(points, log_target), points)
    else:
        log_surrogate, score = evaluate(as_builder(surrogate).build(points, log_target, len(points)), points)
    if np.isnan(log_surrogate).any() or (log_surrogate == np.inf).any() or not np.isfinite(score).all():
        raise ValueError("expected the surrogate to have a log-density below +inf and a finite score at every point")
    if not np.isfinite(log_surrogate).any():
        raise ValueError("all weights ρ/p are zero: the surrogate's density vanishes at every point")
    return log_surrogate - log_target, score


def _outside_doubt(num_outside: int, num_points: int) -> Iterator[str]:
    if num_outside:
        yield (
            f"{num_outside} of {num_points} points lie outside the support of the target, which no draw from it does; "
            "the numbers are those of the others, and mean nothing if the density does not fall to zero at the edge."
        )


def _sample_doubt(sample_weights: Array) -> Iterator[str]:
    size, num_points = effective_sample_size(sample_weights), int((sample_weights > 0).sum())
    if _is_small(size, num_points):
        yield f"The weights make {num_points} points worth {size:.1f}: the numbers mean little."


def _ratio_doubt(log_ratio: Array, weights: Array, sample_weights: Array) -> Iterator[str]:
    size = effective_sample_size(weights)
    available = effective_sample_size(sample_weights)
    if _is_small(size, available):
        spread = np.ptp(log_ratio[np.isfinite(log_ratio)])
        yield (
            f"log ρ − log p spans {spread:.3g} nats, so that {size:.1f} of {available:.4g} points carry the weight: "
            "the numbers mean little. A surrogate closer to the target, or more points, would help."
        )


def _is_small(size: float, available: float) -> bool:
    """Whether so little is left of what there was that numbers mean little."""
    return size < max(_LEAST_SHARE * available, min(_LEAST_SIZE, available / 2))
