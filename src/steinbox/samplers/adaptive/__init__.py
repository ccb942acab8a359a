"""The archive sampler: every evaluation is kept and weighted, and the particles are chosen from all of them."""

from steinbox.samplers.adaptive.sampler import AdaptiveImportanceSampling

__all__ = ["AdaptiveImportanceSampling"]
