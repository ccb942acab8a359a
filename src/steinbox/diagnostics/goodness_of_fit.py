"""A test of whether a sample comes from a density that needs only values of the density."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from steinbox.common.checks import require_count, require_number
from steinbox.diagnostics.bootstrap import estimate_autocorrelation_time, random_signs
from steinbox.diagnostics.inputs import Values
from steinbox.diagnostics.statistic import u_statistic
from steinbox.diagnostics.stein_sample import COORDINATES, KERNEL, Metric, SteinSample, make_stein_sample
from steinbox.maps.coordinates import Coordinates
from steinbox.numerics.bandwidth import Rule
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.weights import effective_sample_size

_DEFAULT_LEVEL = 0.05
_MAX_P_BY_CHANCE = 0.95  # above it, points are more even than 19 of 20 independent samples
_HIDDEN_SPREAD = (
    "; the points are spaced more evenly than independent draws, so the test has little power and would miss a spread "
    "that is too small"
)
_MIN_POINTS_PER_TIME = 50  # points per autocorrelation time; fewer make the test unreliable


@dataclass(frozen=True)
class GoodnessOfFit:
    """The outcome of a test; ``str()`` gives a sentence.

    Attributes
    ----------
    statistic : float
        The unbiased estimate of the squared discrepancy, times the effective sample size of the sample's own weights.
    p_value : float
        The probability that a sample of the target has a statistic at least as large.
    effective_sample_size : float
        Of the weights that went into it.
    num_outside : int
        Points outside the target's support; one is enough to reject.
    autocorrelation_time : float
        As assumed or estimated: 1 means independent points.
    warnings : tuple of str
        Reasons not to trust the outcome.
    judge : str
        What the slopes of log p were taken from: "the score given", or the name of the surrogate.
    """

    statistic: float
    p_value: float
    effective_sample_size: float
    num_outside: int
    autocorrelation_time: float
    warnings: tuple[str, ...]
    judge: str

    def rejects(self, level: float = _DEFAULT_LEVEL) -> bool:
        """Whether the hypothesis that the sample comes from the target is rejected at this level."""
        return self.p_value <= level

    def __str__(self) -> str:
        if self.num_outside:
            verdict = "The sample does not come from the target"
        elif self.rejects():
            verdict = f"The sample is unlikely to come from the target (p = {self.p_value:.2g})"
        else:
            verdict = (
                f"The test finds no difference from the target (p = {self.p_value:.2g}), which does not prove that "
                f"there is none. It relies on {self.judge}, cannot see modes without points, and barely sees the "
                f"shares of separated modes{_HIDDEN_SPREAD if self.p_value > _MAX_P_BY_CHANCE else ''}"
            )
        return " ".join([verdict + ".", *(f"Warning: {warning}" for warning in self.warnings)])


def goodness_of_fit(
    points: npt.ArrayLike,
    log_prob: Values | None = None,
    *,
    score: Values | None = None,
    surrogate: object | None = None,
    weight: object | None = None,
    weights: npt.ArrayLike | None = None,
    num_bootstrap: int = 1000,
    autocorrelation_time: float | Literal["auto"] = 1.0,
    kernel: Kernel = KERNEL,
    bandwidth: float | str | Rule = "median",
    coordinates: Coordinates = COORDINATES,
    rng: int | np.random.Generator | None = None,
) -> GoodnessOfFit:
    r"""Test whether a sample comes from a density, from values of its logarithm alone.

    The statistic is that of :func:`gf_ksd` (of :func:`ksd` if ``score`` is given). If the sample comes from the target,
    :math:`n \sum_{ij} c_i c_j \kappa(x_i, x_j)` is a degenerate V-statistic, and
    :math:`n \sum_{ij} \varepsilon_i \varepsilon_j c_i c_j \kappa(x_i, x_j)` with random signs :math:`\varepsilon` has
    the same limit (wild bootstrap; Leucht & Neumann, 2013; Chwialkowski, Strathmann & Gretton, 2016). Signs square to
    one, so the diagonal is the same in both and U- and V-statistic give the same p-value.

    The default surrogate is fitted to the sample itself. This does not bias the test to first order, since the Stein
    identity holds for every surrogate. It needs a density that falls to zero at the edge of its support, if it has one:
    samples of a uniform or half-normal density are always rejected. For parameters with hard bounds, test an unbounded
    transform of them, with its Jacobian in the log-density.

    Parameters
    ----------
    points : (n, d) array_like
        Independent points, or a Markov chain in its order.
    log_prob : (n,) array_like or function, or None
        Values of the log-density up to a constant, or a function that returns them for all points at once. A
        point where it is −inf cannot come from the target: the p-value is zero then. May be None if ``score`` is given.
    score : (n, d) array_like or function, optional
        The gradient of the log-density; makes it the classical test.
    surrogate, weight : optional
        As for :func:`gf_ksd`.
    weights : (n,) array_like, optional
        Importance weights of the sample; equal if not given.
    num_bootstrap : int
    autocorrelation_time : float or "auto"
        Integrated autocorrelation time of a Markov chain; "auto" estimates it from the points. With 1
        they are assumed to be independent: if they are not, good samples are rejected far too often.
    kernel, bandwidth, coordinates
        As for :func:`ksd`.
    rng : int, Generator or None
        For the random signs; None draws other signs at every call.

    Returns
    -------
    GoodnessOfFit

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).standard_normal((300, 2))
    >>> str(goodness_of_fit(points, -0.5 * (points**2).sum(axis=1), rng=0))[:54]
    'The test finds no difference from the target (p = 0.91'
    >>> print(goodness_of_fit(points, -0.5 * ((points - 0.3) ** 2).sum(axis=1), rng=0))
    The sample is unlikely to come from the target (p = 0.001).
    """
    require_count("num_bootstrap", num_bootstrap)
    metric = Metric(kernel, bandwidth, coordinates)
    sample = make_stein_sample(points, log_prob, score=score, surrogate=surrogate, weights=weights, weight=weight)
    time, warnings = _choose_time(sample, autocorrelation_time)
    test = fit_test(sample, metric, num_bootstrap, time, np.random.default_rng(rng))
    return replace(test, warnings=(*test.warnings, *warnings))


def fit_test(
    sample: SteinSample,
    metric: Metric,
    num_bootstrap: int,
    autocorrelation_time: float,
    rng: np.random.Generator,
) -> GoodnessOfFit:
    """The test of a sample, with a given autocorrelation time."""
    stein = metric.stein_kernel(sample)
    signs = random_signs(len(stein), num_bootstrap, autocorrelation_time, rng)
    ones = np.ones((len(stein), 1), dtype=np.int8)
    observed, *chance = stein.quadratic_forms(np.hstack([ones, signs]))
    unbiased = u_statistic(float(observed), float(stein.diagonal.sum()), sample.sample_weights)
    return GoodnessOfFit(
        statistic=effective_sample_size(sample.sample_weights) * unbiased,
        p_value=0.0 if sample.num_outside else (1 + int((np.array(chance) >= observed).sum())) / (1 + num_bootstrap),
        effective_sample_size=sample.effective_sample_size,
        num_outside=sample.num_outside,
        autocorrelation_time=autocorrelation_time,
        warnings=sample.warnings,
        judge=sample.judge,
    )


def _choose_time(sample: SteinSample, time: float | Literal["auto"]) -> tuple[float, tuple[str, ...]]:
    """The autocorrelation time to use, and warnings about it."""
    estimate = estimate_autocorrelation_time(sample.points)
    if time == "auto":
        return estimate, _short_chain_warning(estimate, len(sample.points))
    require_number("autocorrelation_time, if it is not 'auto',", time, smallest=1)
    if time > 1:
        return float(time), _short_chain_warning(float(time), len(sample.points))
    copies = len(sample.points) - len(np.unique(sample.points, axis=0))
    if copies:
        raise ValueError(
            f"{copies} of {len(sample.points)} points are copies of others, which independent draws of a density never "
            "are. For a Markov chain give autocorrelation_time='auto'; otherwise leave the copies out."
        )
    if estimate > _max_time_by_chance(*sample.points.shape):
        return 1.0, (
            f"Successive points are correlated (over about {estimate:.0f} of them) but were assumed independent; "
            "for a Markov chain give autocorrelation_time='auto'.",
        )
    return 1.0, ()


def _max_time_by_chance(num_points: int, dimension: int) -> float:
    """A bound that the largest of d estimated times seldom exceeds if the points are independent."""
    return float(2 + 2.5 * np.sqrt(5 / num_points) * (1 + np.sqrt(2 * np.log(dimension))))


def _short_chain_warning(time: float, num_points: int) -> tuple[str, ...]:
    if num_points >= _MIN_POINTS_PER_TIME * time:
        return ()
    return (f"{num_points} points at an autocorrelation time of {time:.0f} are too few for a reliable test.",)
