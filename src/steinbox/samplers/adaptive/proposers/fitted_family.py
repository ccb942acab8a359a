"""Draws of a family of densities, fitted to the tempered weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.samplers.adaptive.proposer import Offer, Proposer, View
from steinbox.samplers.adaptive.state import CurrentFit


@dataclass(frozen=True)
class FittedFamily(Proposer):
    r"""The member of the family that is closest to the weighted points (population Monte Carlo; Cappé et al., 2008).

    With weights :math:`w^a`, :math:`a < 1` while they are uneven, it moves from the initial distribution to the target.
    Its shape is chosen anew while it moves, and whenever the points have come to be worth much more.
    """

    name = "fitted family"

    def propose(self, view: View, memory: None, rng: np.random.Generator) -> tuple[Offer, None]:
        sample = view.archive.tempered(view.tempering)
        size = sample.effective_sample_size
        if view.fit is None or view.tempering < 1 or size > view.tuning.regrowth * view.fit.chosen_at:
            previous = None if view.fit is None else view.fit.fitted
            return CurrentFit(view.family.choose(sample, rng, previous), chosen_at=size), None
        return CurrentFit(view.family.refit(sample, view.fit.fitted, rng), view.fit.chosen_at), None
