"""Squared distances between points, whole or in tiles that fit into the cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinbox.common.arrays import Array

MAX_TILE_ROWS = 256  # half a megabyte, so that a tile and its exponential stay in the cache
_MAX_TILE_PRODUCTS = 500_000  # multiplications in a square tile: from 2^19 OpenBLAS starts threads, which cost more
_MIN_TILE_SIDE = 32


def squared_distances(x: Array, y: Array) -> Array:
    r"""All :math:`\|x_i - y_j\|^2`, by one Gram product of points centered at the mean of ``y``.

    Centering keeps the cancellation in :math:`\|x\|^2 + \|y\|^2 - 2 x^\top y` harmless far from the origin.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]]))
    array([[25., 16.]])
    """
    center = y.mean(axis=0)
    return centered_squared_distances(x - center, y - center)


def centered_squared_distances(x: Array, y: Array) -> Array:
    r"""All :math:`\|x_i - y_j\|^2` of points that are centered already."""
    distances = x @ y.T
    distances *= -2.0
    distances += np.einsum("id,id->i", x, x)[:, None]
    distances += np.einsum("jd,jd->j", y, y)[None, :]
    return np.maximum(distances, 0.0, out=distances)


def row_tiles(num_rows: int, height: int | None = None) -> Iterator[slice]:
    """Slices of ``height`` rows, at most ``MAX_TILE_ROWS`` if not given, that cover all rows in order."""
    height = height or MAX_TILE_ROWS
    return (slice(start, min(start + height, num_rows)) for start in range(0, num_rows, height))


def distance_factors(centered: Array, factor: float) -> tuple[Array, Array]:
    """Rows l_i and r_j with l_i · r_j = c ‖x_i − x_j‖², also between the points of two sets; below zero by rounding."""
    norms, ones = np.einsum("id,id->i", centered, centered), np.ones(len(centered))
    return factor * np.column_stack([-2 * centered, norms, ones]), np.column_stack([centered, ones, norms])


class TriangleTiles:
    """Square tiles of c ‖x_i − x_j‖² that cover the upper triangle, the diagonal tiles whole.

    Each is one product of points with two more columns, in a buffer that the next tile uses again: fresh memory would
    cost more in page faults than what is written to it. Entries may be below zero by rounding.
    """

    def __init__(self, centered: Array, factor: float = 1.0) -> None:
        self._left, self._right = distance_factors(centered, factor)
        side = min(MAX_TILE_ROWS, max(_MIN_TILE_SIDE, int(np.sqrt(_MAX_TILE_PRODUCTS / self._left.shape[1]))))
        self._blocks = list(row_tiles(len(centered), side))
        self._buffer = np.empty(side**2)

    def __iter__(self) -> Iterator[tuple[slice, slice, Array]]:
        for number, rows in enumerate(self._blocks):
            for columns in self._blocks[number:]:
                shape = rows.stop - rows.start, columns.stop - columns.start
                tile = self._buffer[: shape[0] * shape[1]].reshape(shape)
                yield rows, columns, np.matmul(self._left[rows], self._right[columns].T, out=tile)
