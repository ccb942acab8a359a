"""Adaptive importance sampling, as a user sets it up."""

from __future__ import annotations

from dataclasses import dataclass, field

from steinbox.common.checks import require_component, require_count
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.family import Family
from steinbox.densities.initial import Initial
from steinbox.samplers.adaptive.proposer import Proposer
from steinbox.samplers.adaptive.proposers import (
    Climbs,
    FittedFamily,
    QuadraticFit,
    Repeats,
    SurrogateRefinement,
    ThinTail,
)
from steinbox.samplers.adaptive.sampler import AdaptiveSampler
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.adaptive.tuning import Tuning
from steinbox.samplers.base import Method, Problem

_MIN_EVALS = 4  # with fewer there is nothing to choose from

DEFAULT_PROPOSERS: tuple[Proposer, ...] = (
    Repeats(),
    SurrogateRefinement(),
    Climbs(),
    FittedFamily(),
    QuadraticFit(),
    ThinTail(),
)
"""What :class:`AdaptiveImportanceSampling` asks, in this order."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveImportanceSampling(Method[AdaptiveState]):
    r"""Adaptive multiple importance sampling by a portfolio of proposals; n particles chosen from all evaluations.

    Every point :math:`x_i` has the deterministic-mixture weight (Owen & Zhou, 2000; Cornuet et al., 2012)

    .. math:: w_i = p(x_i) \Big/ \sum_j n_j q_j(x_i)

    over all densities :math:`q_j` drawn from so far. While the weights are uneven they are tempered, :math:`w^a`, to an
    effective sample size to learn from. Then ``proposers`` offer densities for the next points: a family of curved
    mixtures fitted to the tempered weights and, while :math:`a < 1`, a Gaussian from a quadratic fitted to all
    log-densities share a batch by what their draws have earned. Climbs by values alone, from the best point and from
    other promising ones, find modes however far away, and offer Gaussians there; they have up to half of
    the budget, and say in ``result.coverage`` what they know of modes that were not seen. At the end
    :func:`~steinbox.select` chooses the particles. If the points are worth few independent draws but a surrogate
    predicts their log-densities well, the last batch is chosen from many points that it weights.

    ``result.trace`` has one entry per batch: whose draws it was made of (``proposers``), and after it the power a
    (``tempering``), the effective sample size of the untempered weights (``effective_sample_size``), the number of
    components of the last fit (``num_components``), the log-evidence (``log_evidence``) and the mean log-density of
    the weighted points (``mean_log_prob``).

    Parameters
    ----------
    proposers : sequence of Proposer
        Asked in this order before every batch, see :class:`~steinbox.Proposer`. Leave one out to do without it.
    family : Family
        What is fitted to the weighted points.
    tuning : Tuning
        The numbers that one may want to change, see :class:`~steinbox.samplers.adaptive.Tuning`.
    batch : int, optional
        Evaluations at a time. If not given, a fiftieth of the budget, at least 200 and 10 d (but a sixth of a small
        budget), at most 2,000.
    stop_early : bool
        Whether to stop when the points are worth twenty times as many independent draws as there are particles, and
        the last third of them did not change the log-evidence: then more would hardly change the particles. (Forty
        times if log p is noisy.)
    base : Initial, optional
        What the first points are drawn from, and climbs begin at; with a normalized density. If not given, the initial
        distribution of the run.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True,
    ...                    method=sb.AdaptiveImportanceSampling(), num_particles=100, max_evals=3_000, seed=0)
    >>> result.particles.shape, bool(abs(result.log_evidence) < 0.1)
    ((100, 2), True)
    """

    proposers: tuple[Proposer, ...] = DEFAULT_PROPOSERS
    family: Family = field(default_factory=CurvedMixtures)
    tuning: Tuning = field(default_factory=Tuning)
    batch: int | None = None
    stop_early: bool = True
    base: Initial | None = None

    def __post_init__(self) -> None:
        if isinstance(self.proposers, Proposer) or len(self.proposers) == 0:
            raise ValueError(f"expected a sequence of one or more proposers, got {self.proposers!r}")
        object.__setattr__(self, "proposers", tuple(self.proposers))
        for proposer in self.proposers:
            require_component("each proposer", proposer, "propose", "Climbs()")
            require_component("each proposer", proposer, "name", "Climbs(), which has a name")
        names = [proposer.name for proposer in self.proposers]
        if len(set(names)) < len(names):
            raise ValueError(f"expected proposers with different names, got {', '.join(names)}")
        require_component("family", self.family, "choose", "CurvedMixtures()")
        if not isinstance(self.tuning, Tuning):
            raise TypeError(f"expected tuning to be a Tuning, got {self.tuning!r}")
        if self.base is not None:
            require_component("base", self.base, "log_prob", "Gaussian(mean, std=1)")
        if self.batch is not None:
            require_count("batch", self.batch, 20)

    def plan(self, problem: Problem) -> AdaptiveSampler:
        """The sampler that starts from the initial distribution, or from the base if one was given."""
        if problem.max_evals < _MIN_EVALS:
            raise ValueError(
                f"a budget of max_evals={problem.max_evals} is too small to choose particles from; at least "
                f"{_MIN_EVALS} evaluations are needed"
            )
        initial = problem.initial if self.base is None else self.base
        if initial.dimension != problem.dimension:
            raise ValueError(f"expected a base in {problem.dimension} dimensions, got one in {initial.dimension}")
        return AdaptiveSampler(self, initial, problem.num_particles, problem.assumed_noise)
