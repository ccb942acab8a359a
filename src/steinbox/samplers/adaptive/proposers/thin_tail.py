r"""Draws along a tail that hardly any have reached: the neck of a funnel, the end of a curve.

The fitted density is close to the points that there are, and adds little to a tail that they do not fill. Behind its
map, draws are spread farther along the direction of the thinnest tail alone. If :math:`s \approx \beta^\top u` is the
place along the tail of the point whose image is u, every covariance there becomes

.. math:: \Sigma + (r^2 - 1) \frac{\Sigma \beta \beta^\top \Sigma}{\beta^\top \Sigma \beta},

so that the standard deviation of s is r times as large, and nothing else changes that s does not depend on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.density import MixtureDensity
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback
from steinbox.numerics.weights import log_sum_exp
from steinbox.samplers.adaptive.proposer import Draws, Offer, Proposer, View

_STRETCH = 3.0  # of the standard deviation along the tail


@dataclass(frozen=True)
class ThinTail(Proposer):
    """The fitted density, stretched along the thinnest tail, while that is worth much less than its share."""

    name = "thin tail"

    def propose(self, view: View, memory: None, rng: np.random.Generator) -> tuple[Offer, None]:
        tail = view.archive.thinnest_tail
        if view.fit is None or not tail.is_thin:
            return None, memory
        sample = view.archive.tempered(view.tempering)
        density = stretch(view.fit.density, sample, sample.points @ tail.direction)
        return (None if density is None else Draws(density)), memory


def stretch(density: MixtureDensity, sample: WeightedPoints, places: Array) -> MixtureDensity | None:
    """Along the direction in which the places rise; None if it is no mixture behind a map."""
    match density:
        case Mixture():
            log_terms = np.stack([each.log_prob(sample.points) for each in density.densities])
            log_terms += np.log(density.weights)[:, None]
            weights = sample.weights * np.exp(log_terms - log_sum_exp(log_terms)) + 1e-300
            pairs = zip(density.densities, weights, strict=True)
            parts = [stretch(each, replace(sample, weights=mine / mine.sum()), places) for each, mine in pairs]
            stretched = [each for each in parts if each is not None]
            return Mixture(stretched, density.weights) if len(stretched) == len(parts) else None
        case Pullback(map=map_, density=GaussianMixture() as mixture):
            slopes = _regress(map_.forward(sample.points), places, sample.weights)
            along = mixture.covs @ slopes
            scale = np.maximum(along @ slopes, 1e-300)[:, None, None]
            covs = mixture.covs + (_STRETCH**2 - 1) * along[:, :, None] * along[:, None, :] / scale
            return Pullback(map_, GaussianMixture.from_arrays(mixture.weights, mixture.means, covs))
    return None


def _regress(images: Array, places: Array, weights: Array) -> Array:
    root = np.sqrt(weights)
    z = (images - weights @ images) * root[:, None]
    return np.asarray(np.linalg.lstsq(z, (places - weights @ places) * root, rcond=None)[0])
