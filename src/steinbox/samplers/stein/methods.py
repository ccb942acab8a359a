r"""The four methods of Han & Liu (2018): a drive each, and a path or none.

=======================  ==================  =========================
method                   drive               path
=======================  ==================  =========================
:class:`SVGD`            the target's score  none
:class:`GFSVGD`          a surrogate's       none
:class:`AnnealedSVGD`    the target's score  from p0, by a schedule
:class:`AnnealedGFSVGD`  a surrogate's       from p0, by a schedule
=======================  ==================  =========================
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy.typing as npt

from steinbox.common.checks import is_number
from steinbox.samplers.annealing import AnnealedPath, NoPath, Schedule, check_path
from steinbox.samplers.base import Problem
from steinbox.samplers.stein.direction import Direction, stein_direction
from steinbox.samplers.stein.drive import SurrogateScore, TargetScore, with_flat_part
from steinbox.samplers.stein.sampler import SteinFlow, SteinMethod
from steinbox.surrogates.base import Builder, Surrogate, as_builder
from steinbox.surrogates.interpolant import Interpolant
from steinbox.surrogates.weight_fields import WeightField, as_weight_field


def require_share(name: str, value: object) -> None:
    """Refuse what is not between zero and one."""
    if not (is_number(value) and 0 <= value <= 1):  # type: ignore[operator]
        raise ValueError(f"expected {name} to be a number between 0 and 1, got {value!r}")


def require_exact_sums(weight: object, direction: Direction) -> None:
    """Matrix-valued weights have their own sums."""
    if weight is not None and direction is not stein_direction:
        raise ValueError("weight= and direction= cannot be combined: sums with a weight at every particle are exact")


@dataclass(frozen=True, kw_only=True)
class SVGD(SteinMethod):
    r"""Stein variational gradient descent (Liu & Wang, 2016; update 1 of Han & Liu, 2018):

    .. math:: \Delta x_i = \frac1n \sum_j \big[ \nabla\log p(x_j) k(x_j, x_i) + \nabla_{x_j} k(x_j, x_i) \big].

    It needs ``score=`` of :func:`steinbox.sample`. A particle whose score or value failed pushes nobody.

    Parameters
    ----------
    exponent : float
        The :math:`\beta` of a surrogate with the gradient, :math:`\rho = p^\beta`, whose weights are
        :math:`p^{\beta-1}`. One is SVGD, and a third the best width for a Gaussian (Section 5.1 of the paper).
    flat_share : float or None
        The :math:`\lambda` of a blend with the surrogate :math:`\rho = 1`, which widens the particles. None chooses it
        at every move, so that their spread is right by Stein's identity; it is ``flat_share`` of the trace.
    num_iterations, bandwidth, optimizer, coordinates, kernel, tolerance, rescue, direction
        See :class:`~steinbox.samplers.stein.sampler.SteinMethod`, also for what is in ``result.trace``.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0.0, 0.0], std=2.0), score=target.score, vectorized=True,
    ...                    method=sb.SVGD(num_iterations=200), num_particles=50)
    >>> result.particles.mean(axis=0).round(1)
    array([ 1., -1.])
    """

    exponent: float = 1.0
    flat_share: float | None = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_share("exponent", self.exponent)
        require_share("flat_share", self.flat_share or 0.0)

    @property
    def needs_score(self) -> bool:
        return True

    def plan(self, problem: Problem) -> SteinFlow:
        return self.compose(problem, with_flat_part(TargetScore(self.exponent), self.flat_share), NoPath())


@dataclass(frozen=True, kw_only=True)
class GFSVGD(SteinMethod):
    r"""Gradient-free SVGD (Algorithm 1 of Han & Liu, 2018):

    .. math:: \Delta x_i = \frac{1}{\sum_j w_j} \sum_j w_j \big[ \nabla\log\rho(x_j) k(x_j, x_i)
              + \nabla_{x_j} k(x_j, x_i) \big], \qquad w_j = \rho(x_j) / p(x_j).

    Neither :math:`\rho` nor p needs to be normalized. If ``noise=`` of :func:`steinbox.sample` says that values are
    noisy, the interpolant smooths, and all weights are one.

    Parameters
    ----------
    surrogate : Surrogate or Builder
        A fixed :math:`\rho`, any object with ``log_prob(points)`` and ``score(points)``, or one of
        :mod:`steinbox.surrogates` that is rebuilt from the target's values at every step.
    weight : (d, d) array or WeightField, optional
        A matrix, or a field of them, that :math:`\rho / p` is multiplied by: see
        :mod:`steinbox.surrogates.weight_fields`.
    weighted_steps : bool
        Whether the step of particle i is also multiplied by :math:`w(x_i)`, as in Theorem 2, where :math:`Z = n`; since
        p is known up to a constant only, w is divided by its mean. The fixed points are the same.
    flat_share : float or None
        As for :class:`SVGD`.
    num_iterations, bandwidth, optimizer, coordinates, kernel, tolerance, rescue, direction
        See :class:`~steinbox.samplers.stein.sampler.SteinMethod`, also for what is in ``result.trace``.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> result = sb.sample(lambda x: -0.5 * np.sum((x - 1) ** 2), sb.Gaussian([0.0, 0.0], std=3.0), num_particles=50,
    ...                    method=sb.GFSVGD(surrogate=sb.Gaussian([0.0, 0.0], std=1.7), num_iterations=200))
    >>> np.abs(result.particles.mean(axis=0) - 1).max() < 0.1
    np.True_
    """

    surrogate: Surrogate | Builder = field(default_factory=Interpolant)
    weight: npt.ArrayLike | WeightField | None = None
    weighted_steps: bool = False
    flat_share: float | None = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        as_builder(self.surrogate)
        as_weight_field(self.weight)
        require_exact_sums(self.weight, self.direction)
        require_share("flat_share", self.flat_share or 0.0)

    def plan(self, problem: Problem) -> SteinFlow:
        weight = as_weight_field(self.weight)
        drive = SurrogateScore(as_builder(self.surrogate), problem.noise, weight, self.weighted_steps)
        return self.compose(problem, with_flat_part(drive, self.flat_share), NoPath())


@dataclass(frozen=True, kw_only=True)
class AnnealedSVGD(SteinMethod):
    r"""SVGD on the path :math:`p_t \propto p_0^{1-\alpha_t} p^{\alpha_t}` (Algorithm 2 of Han & Liu, 2018).

    With ``base=surrogates.Flat()`` the path is :math:`p^{\alpha_t}`, and the update is the paper's special case, whose
    repulsion is weighted by the inverse temperature:

    .. math:: \Delta x_i = \frac1n \sum_j \Big[ \nabla\log p(x_j) k(x_j, x_i)
              + \frac{1}{\alpha_t} \nabla_{x_j} k(x_j, x_i) \Big].

    A flat p0 is improper: at small :math:`\alpha_t` the particles fly apart, and in whitened coordinates, whose unit
    grows with the particles, they do so exponentially. Use ``coordinates=coordinates.Plain()`` with it.

    Parameters
    ----------
    schedule : Schedule
        Temperatures, see :mod:`steinbox.samplers.annealing`; ``Schedule(steps_per_temperature=m)`` for the paper's m.
    base : Surrogate, optional
        The p0 of the path; the initial distribution if not given.
    num_iterations, bandwidth, optimizer, coordinates, kernel, tolerance, rescue, direction
        See :class:`~steinbox.samplers.stein.sampler.SteinMethod`, also for what is in ``result.trace``.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0.0, 0.0], std=2.0), score=target.score, vectorized=True,
    ...                    method=sb.AnnealedSVGD(num_iterations=100), num_particles=50, seed=0)
    >>> result.particles.mean(axis=0).round(1)
    array([ 1., -1.])
    """

    schedule: Schedule = field(default_factory=Schedule)
    base: Surrogate | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_path(self.schedule, self.base)

    @property
    def needs_score(self) -> bool:
        return True

    def plan(self, problem: Problem) -> SteinFlow:
        base = problem.initial if self.base is None else self.base
        return self.compose(problem, TargetScore(), AnnealedPath(base, self.schedule))


@dataclass(frozen=True, kw_only=True)
class AnnealedGFSVGD(SteinMethod):
    r"""GF-SVGD on the path :math:`p_t \propto p_0^{1-\alpha_t} p^{\alpha_t}` (Algorithm 3 of Han & Liu, 2018).

    At iteration t the surrogate :math:`\rho_{t+1}` is built from the values of :math:`p_{t+1}` at the particles. The
    default is the log-domain interpolant; ``surrogate=surrogates.KernelCurve()`` is the paper's.

    Parameters
    ----------
    surrogate, weight, weighted_steps
        As for :class:`GFSVGD`.
    schedule : Schedule
        Temperatures, see :mod:`steinbox.samplers.annealing`.
    base : Surrogate, optional
        The p0 of the path; the initial distribution if not given.
    num_iterations, bandwidth, optimizer, coordinates, kernel, tolerance, rescue, direction
        See :class:`~steinbox.samplers.stein.sampler.SteinMethod`, also for what is in ``result.trace``.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0.0, 0.0], std=2.0), vectorized=True, num_particles=30,
    ...                    method=sb.AnnealedGFSVGD(num_iterations=40), seed=0)
    >>> result.particles.mean(axis=0).round(1), float(result.trace["temperature"][-1])
    (array([ 1., -1.]), 1.0)
    """

    surrogate: Surrogate | Builder = field(default_factory=Interpolant)
    weight: npt.ArrayLike | WeightField | None = None
    weighted_steps: bool = False
    schedule: Schedule = field(default_factory=lambda: Schedule(share=0.5))
    base: Surrogate | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        as_builder(self.surrogate)
        as_weight_field(self.weight)
        require_exact_sums(self.weight, self.direction)
        check_path(self.schedule, self.base)

    def plan(self, problem: Problem) -> SteinFlow:
        base = problem.initial if self.base is None else self.base
        weight = as_weight_field(self.weight)
        drive = SurrogateScore(as_builder(self.surrogate), problem.noise, weight, self.weighted_steps)
        return self.compose(problem, drive, AnnealedPath(base, self.schedule))
