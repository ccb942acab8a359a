"""All pairs of points, each looked at once: square tiles that fit into the cache, in panels for the threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.pairwise.threads import map_in_threads

Outcome = TypeVar("Outcome")

MAX_TILE_ROWS = 256  # half a megabyte, so that a tile and its exponential stay in the cache
_MAX_TILE_PRODUCTS = 500_000  # multiplications in a square tile: from 2^19 OpenBLAS starts threads, which cost more
_MIN_TILE_SIDE = 32
_MIN_PANEL_TILES, _MAX_PANEL_TILES = 2, 8  # along each side; between these, eight panels along a side of the matrix


def row_tiles(num_rows: int, height: int | None = None) -> Iterator[slice]:
    """Slices of ``height`` rows, at most ``MAX_TILE_ROWS`` if not given, that cover all rows in order."""
    height = height or MAX_TILE_ROWS
    return (slice(start, min(start + height, num_rows)) for start in range(0, num_rows, height))


def distance_factors(centered: Array, factor: float) -> tuple[Array, Array]:
    """Rows l_i and r_j with l_i · r_j = c ‖x_i − x_j‖², also between the points of two sets; below zero by rounding."""
    norms, ones = np.einsum("id,id->i", centered, centered), np.ones(len(centered))
    left = np.column_stack([centered, norms, ones])
    left[:, :-2] *= -2
    left *= factor
    return left, np.column_stack([centered, ones, norms])


@dataclass(frozen=True, eq=False)
class Panel:
    """A square part of the matrix c ‖x_i − x_j‖²; of one on the diagonal, what lies on it and above."""

    rows: slice
    columns: slice
    left: Array
    right: Array
    side: int

    @property
    def is_diagonal(self) -> bool:
        """Whether rows and columns are the same points."""
        return self.rows == self.columns

    def __iter__(self) -> Iterator[tuple[slice, slice, Array, bool]]:
        """Rows and columns *within the panel*, the tile, and whether it is one of the diagonal, which are whole.

        Each is one product of points with two more columns, in a buffer that the next tile uses again: fresh memory
        would cost more in page faults than what is written to it. What rounding took below zero is mirrored, which is
        as close to the truth as zero is, and takes a quarter of the time.
        """
        buffer = np.empty(self.side**2)
        for rows in row_tiles(len(self.left), self.side):
            for columns in row_tiles(len(self.right), self.side):
                if self.is_diagonal and columns.start < rows.start:
                    continue
                shape = rows.stop - rows.start, columns.stop - columns.start
                tile = buffer[: shape[0] * shape[1]].reshape(shape)
                np.matmul(self.left[rows], self.right[columns].T, out=tile)
                np.absolute(tile, out=tile)
                is_diagonal = self.is_diagonal and rows == columns
                if is_diagonal:
                    np.fill_diagonal(tile, 0.0)
                yield rows, columns, tile, is_diagonal


def map_triangle(task: Callable[[Panel], Outcome], centered: Array, factor: float = 1.0) -> Iterator[Outcome]:
    """The outcomes for the panels that cover the pairs of points, always the same ones in the same order.

    Parameters
    ----------
    task : function
        Of a panel; runs in a thread.
    centered : (n, d) array
        Points, with their mean at the origin.
    factor : float
        The c of c ‖x_i − x_j‖².

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-1.0], [0.0], [1.0]])
    >>> for tiles in map_triangle(lambda panel: [tile.copy() for _, _, tile, _ in panel], x):
    ...     print(tiles[0])
    [[0. 1. 4.]
     [1. 0. 1.]
     [4. 1. 0.]]
    """
    left, right = distance_factors(centered, factor)
    side = min(MAX_TILE_ROWS, max(_MIN_TILE_SIDE, int(np.sqrt(_MAX_TILE_PRODUCTS / left.shape[1]))))
    num_tiles = int(np.clip(len(left) // (8 * side), _MIN_PANEL_TILES, _MAX_PANEL_TILES))
    parts = list(row_tiles(len(left), side * num_tiles))
    panels = [
        Panel(rows, columns, left[rows], right[columns], side)
        for number, rows in enumerate(parts)
        for columns in parts[number:]
    ]
    return map_in_threads(task, panels)
