"""Draws of a family of densities, fitted to the tempered weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.samplers.adaptive.proposer import Offer, Proposer, View


@dataclass(frozen=True)
class FittedFamily(Proposer):
    r"""The member of the family that is closest to the weighted points (population Monte Carlo; Cappé et al., 2008).

    With weights :math:`w^a`, :math:`a < 1` while they are uneven, it moves from the initial distribution to the target.
    Its shape is chosen anew every time.
    """

    name = "fitted family"

    def propose(self, view: View, memory: None, rng: np.random.Generator) -> tuple[Offer, None]:
        return view.family.choose(view.archive.tempered(view.tempering), rng, view.fit), None
