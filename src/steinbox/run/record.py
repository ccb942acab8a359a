"""The way of a run: its particles after some of the iterations, to be drawn and animated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.samplers.base import Sample


@serializable("run-record")
@dataclass(frozen=True, eq=False)
class Record:
    r"""Particles after T of the iterations, evenly spread over the run; ``sb.sample(..., record=T)`` keeps them.

    Attributes
    ----------
    num_evals : (T,) array
        Evaluations up to then.
    particles : (T, n, d) array
        In the user's units.
    weights, log_prob : (T, n) array
        Of the particles.
    is_flow : bool
        Whether the i-th particle of one moment is the i-th of the next, moved, as with the Stein samplers. The default
        chooses its particles anew every time.
    max_frames : int
        Moments to keep, at most.
    forces : mapping of str to (T, n) or (T, n, d) array
        What moved the particles next, if the method says so. The Stein samplers: ``importance_weights``
        (:math:`\rho/p`, on a path those of its density; they sum to one), ``score`` (of the surrogate, or of the
        target) and ``step``; in free parameters, if there are bounds.

    Examples
    --------
    >>> import steinbox as sb
    >>> result = sb.sample(sb.targets.Banana().log_prob, sb.Gaussian([0, 0], std=3), method=sb.AnnealedGFSVGD(),
    ...                    vectorized=True, num_particles=50, max_evals=2_000, record=5, seed=0)
    >>> result.record.particles.shape, result.record.num_evals.tolist()
    ((5, 50, 2), [50, 500, 1000, 1500, 2000])
    """

    max_frames: int
    is_flow: bool
    num_evals: IntegerArray
    particles: Array
    weights: Array
    log_prob: Array
    forces: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def empty(cls, max_frames: int, num_particles: int, dimension: int, *, is_flow: bool) -> Self:
        """Nothing yet."""
        return cls(
            max_frames,
            is_flow,
            np.empty(0, dtype=np.int64),
            np.empty((0, num_particles, dimension)),
            np.empty((0, num_particles)),
            np.empty((0, num_particles)),
        )

    def __len__(self) -> int:
        return len(self.num_evals)

    def is_due(self, progress: float) -> bool:
        """Whether to keep a moment at which this part of the run is done: the first, and then at equal distances."""
        return len(self) < self.max_frames and progress >= len(self) / (self.max_frames - 1)

    def add(self, sample: Sample, num_evals: int) -> Self:
        """With one more moment; it takes the place of the last if there are enough."""
        kept = slice(0, min(len(self), self.max_frames - 1))
        return replace(
            self,
            num_evals=np.append(self.num_evals[kept], num_evals),
            particles=np.concatenate([self.particles[kept], sample.particles[None]]),
            weights=np.concatenate([self.weights[kept], sample.weights[None]]),
            log_prob=np.concatenate([self.log_prob[kept], sample.log_prob[None]]),
            forces={
                name: np.concatenate([self.forces[name][kept], values[None]]) if len(self) else values[None]
                for name, values in sample.forces.items()
            },
        )
