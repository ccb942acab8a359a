"""The Stein direction of very many particles by random features of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_count
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.random_features import draw_frequencies, feature_stein_sums, stein_parts_at

_NUM_CHECKED = 100  # particles at which the error is measured


@dataclass(frozen=True)
class RandomFeatures:
    r"""The Stein direction with the Gaussian kernel replaced by the mean of m random cosines: O(nm) instead of O(n²).

    It is unbiased, and all particles take part. Its error is proportional to :math:`1/\sqrt m`, whatever n, and the
    cosines are drawn anew at every move, so that the errors of many moves cancel. How large it is depends on the
    kernel: a few hundredths with the default bandwidth, and more than the direction itself with one that is much
    narrower, as the paper's is in many dimensions. At the end it is measured, and a run in which it is large says so.

    The cosines depend on the particles only: a run repeats itself, and resumes bit for bit. Not with another kernel
    than :class:`~steinbox.kernels.RBF`, and not with matrix-valued weights (``weight=``).

    Parameters
    ----------
    num_features : int
        The m; each is a cosine and a sine. Below about four times as many particles the exact sums cost as little.

    References
    ----------
    Rahimi & Recht, *Random features for large-scale kernel machines* (NeurIPS 2007). Yu et al., *Orthogonal random
    features* (NeurIPS 2016).

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0.0, 0.0], std=2.0), score=target.score, vectorized=True,
    ...                    method=sb.SVGD(num_iterations=100, direction=sb.RandomFeatures(100)), num_particles=1_000)
    >>> result.particles.mean(axis=0).round(1)
    array([ 1., -1.])
    """

    num_features: int = 500

    def __post_init__(self) -> None:
        require_count("num_features", self.num_features)

    def __call__(
        self, x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float, repulsion: float = 1.0
    ) -> Array:
        """The direction at all particles; see :func:`~steinbox.samplers.stein.direction.stein_direction`."""
        if not isinstance(kernel, RBF):
            raise ValueError(f"RandomFeatures are those of the kernel RBF(), got {kernel!r}")
        rng = np.random.default_rng(crc32(x.tobytes()))
        frequencies = draw_frequencies(self.num_features, x.shape[1], bandwidth, rng)
        score = np.where(weights[:, None] > 0, score, 0.0)
        return feature_stein_sums(x, score, weights, frequencies, repulsion)

    def relative_error(
        self, x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float, repulsion: float = 1.0
    ) -> float:
        """What the direction misses at some particles, relative to its driving or its repulsive part, the larger one.

        Not relative to the direction itself: where particles have settled its parts cancel, and nothing is left.
        """
        rows = np.unique(np.linspace(0, len(x) - 1, _NUM_CHECKED).astype(int))
        score = np.where(weights[:, None] > 0, score, 0.0)
        drive, spread = stein_parts_at(x[rows], x, score, weights, bandwidth, repulsion)
        missed = self(x, score, weights, kernel, bandwidth, repulsion)[rows] - (drive + spread)
        size = max(float(np.linalg.norm(drive)), float(np.linalg.norm(spread)))
        return float(np.linalg.norm(missed)) / size if size > 0 else 0.0
