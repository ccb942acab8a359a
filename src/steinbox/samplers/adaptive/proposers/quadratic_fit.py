"""Draws of a Gaussian from a quadratic fitted to all log-densities: the way from far away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.densities.fitting.quadratic import quadratic_proposal
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.samplers.adaptive.proposer import Draws, Offer, Proposer, View


@dataclass(frozen=True)
class QuadraticFit(Proposer):
    """While weights are uneven: a jump to where a quadratic says the mass must be.

    It uses the log-densities of all points, not only those that hold the weight. Ablation: without it a correlated
    Gaussian in 30 dimensions is not found with 5,000 evaluations.
    """

    name = "quadratic fit"

    def propose(self, view: View, memory: None, rng: np.random.Generator) -> tuple[Offer, None]:
        if view.tempering == 1:
            return None, None
        archive = view.archive
        gaussian = quadratic_proposal(archive.points, archive.log_prob, archive.log_weights)
        return (None if gaussian is None else Draws(GaussianMixture([gaussian]))), None
