"""What can be fitted to weighted points: a family of densities, and one that was fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.serialization import serializable
from steinbox.densities.density import MixtureDensity
from steinbox.densities.fitting.em import WeightedPoints


@serializable("fitted-density")
@dataclass(frozen=True, eq=False)
class Fitted:
    """A density of a family, and what the family has to know to start from it.

    Parameters
    ----------
    shape : object
        The family's own: what was chosen, but for the numbers that are fitted. A dataclass of arrays and numbers, or
        None, so that checkpoints can hold it.
    density : MixtureDensity
        Draws come from it.
    """

    shape: object
    density: MixtureDensity


class Family(Protocol):
    """Densities that can be fitted to weighted points; :class:`~steinbox.CurvedMixtures` is one.

    The adaptive sampler draws from the density that its family fits, and fits it again to all points and their weights.
    """

    def choose(self, sample: WeightedPoints, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        """Find the shape that predicts other points best, and fit it; ``previous`` is where it may start from."""
        ...
