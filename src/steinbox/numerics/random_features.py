r"""Random Fourier features of the Gaussian kernel: sums over all pairs of n points in O(n m) operations.

The kernel is the mean of :math:`\cos \omega^\top (x - y)` over :math:`\omega \sim N(0, \tfrac{2}{h} I)` (Rahimi &
Recht, 2007), and a cosine of a difference is a sum of products. Frequencies that are orthogonal within each block of d
leave this mean as it is, and have a smaller variance (Yu et al., 2016).
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.pairwise.distances import squared_distances
from steinbox.numerics.pairwise.threads import map_in_threads
from steinbox.numerics.pairwise.tiles import row_tiles

_MAX_TILE_PRODUCTS = 500_000  # multiplications in a tile: from 2^19 OpenBLAS starts threads, which cost more
_NUM_PARTS = 32  # for the threads
_FEW_ROWS = 10  # so that no matrix is larger than so many particles


def draw_frequencies(num_frequencies: int, dimension: int, bandwidth: float, rng: np.random.Generator) -> Array:
    """Frequencies from N(0, 2/h I), orthogonal within blocks of as many as there are dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> draw_frequencies(5, 2, 1.0, np.random.default_rng(0)).shape
    (5, 2)
    """
    num_blocks = -(-num_frequencies // dimension)
    bases, triangles = np.linalg.qr(rng.standard_normal((num_blocks, dimension, dimension)))
    bases = bases * np.sign(np.einsum("bii->bi", triangles))[:, None]  # otherwise not uniform
    directions = bases.reshape(-1, dimension)[:num_frequencies]
    lengths = np.sqrt(rng.chisquare(dimension, size=num_frequencies))
    return np.asarray(np.sqrt(2 / bandwidth) * lengths[:, None] * directions)


def feature_stein_sums(x: Array, score: Array, weights: Array, frequencies: Array, repulsion: float = 1.0) -> Array:
    r"""The sums of the Stein direction with the kernel :math:`\tfrac1m \sum_l \cos \omega_l^\top (x - y)`,

    .. math:: \hat\phi(x) = \frac1m \sum_l \big[ \cos(\omega_l^\top x)\, a_l + \sin(\omega_l^\top x)\, b_l \big], \quad
              a_l = \sum_j w_j [s_j \cos_{jl} - c\, \omega_l \sin_{jl}], \quad
              b_l = \sum_j w_j [s_j \sin_{jl} + c\, \omega_l \cos_{jl}].

    Angles, cosines and their products are in single precision, which takes a quarter of the time: its rounding is
    nothing beside the error of a mean over m cosines.

    Parameters
    ----------
    x, score : (n, d) arrays
    weights : (n,) array
    frequencies : (m, d) array
    repulsion : float
        The factor c of the repulsive term.
    """
    num_frequencies, dimension = frequencies.shape
    centered, single = (x - x.mean(axis=0)).astype(np.float32), frequencies.astype(np.float32)
    driving = weights[:, None] * np.column_stack([score, np.ones(len(x))])
    size = float(np.abs(driving).max())  # which may be out of the range of single precision
    driving = (driving / size).astype(np.float32)
    parts = list(row_tiles(len(x), -(-len(x) // _NUM_PARTS)))
    height = max(1, _MAX_TILE_PRODUCTS // (num_frequencies * (dimension + 1)))

    def project(part: slice) -> tuple[Array, Array]:
        of_cosine, of_sine = np.zeros((2, num_frequencies, dimension + 1))
        for rows in row_tiles(part.stop - part.start, height):
            angles = centered[part][rows] @ single.T
            of_cosine += np.cos(angles).T @ driving[part][rows]
            of_sine += np.sin(angles, out=angles).T @ driving[part][rows]
        return of_cosine, of_sine

    of_cosine, of_sine = np.zeros((2, num_frequencies, dimension + 1))
    for cosine_part, sine_part in map_in_threads(project, parts):
        of_cosine += cosine_part
        of_sine += sine_part
    scale = size / num_frequencies
    from_cosine = of_cosine[:, :-1] - repulsion * of_sine[:, -1:] * frequencies
    from_sine = of_sine[:, :-1] + repulsion * of_cosine[:, -1:] * frequencies
    from_cosine, from_sine = (scale * from_cosine).astype(np.float32), (scale * from_sine).astype(np.float32)

    def evaluate(part: slice) -> Array:
        sums = np.empty((part.stop - part.start, dimension))
        for rows in row_tiles(len(sums), height):
            angles = centered[part][rows] @ single.T
            sums[rows] = np.cos(angles) @ from_cosine
            sums[rows] += np.sin(angles, out=angles) @ from_sine
        return sums

    return np.concatenate(list(map_in_threads(evaluate, parts)))


def stein_parts_at(
    points: Array, x: Array, score: Array, weights: Array, bandwidth: float, repulsion: float = 1.0
) -> tuple[Array, Array]:
    r"""The exact direction at a few points in two parts, :math:`\sum_j w_j s_j k` and :math:`c \sum_j w_j \nabla k`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-1.0], [1.0]])
    >>> drive, spread = stein_parts_at(x, x, -x, np.array([0.5, 0.5]), bandwidth=4.0)
    >>> drive.round(3).ravel(), spread.round(3).ravel()
    (array([ 0.316, -0.316]), array([-0.184,  0.184]))
    """
    factor = weights[:, None] * np.column_stack([score, x, np.ones(len(x))])
    dimension = x.shape[1]
    sums = [
        np.exp(-squared_distances(points[row], x) / bandwidth) @ factor for row in row_tiles(len(points), _FEW_ROWS)
    ]
    moments = np.concatenate(sums)
    pushed = points * moments[:, -1:] - moments[:, dimension:-1]
    return moments[:, :dimension], 2 * repulsion / bandwidth * pushed
