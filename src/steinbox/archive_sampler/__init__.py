"""The archive sampler: every evaluation is kept and weighted, and the particles are chosen from all of them."""

from steinbox.archive_sampler.sampler import ArchiveSampler

__all__ = ["ArchiveSampler"]
