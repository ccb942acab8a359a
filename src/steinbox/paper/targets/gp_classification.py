"""The posterior of a Gaussian process classifier's length-scales, its latent values integrated out by sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import logsumexp

from steinbox.common.arrays import Array
from steinbox.densities.gaussian import Gaussian
from steinbox.paper.targets.gp_approximations import ApproximationError, ExpectationPropagation, Sites

Approximation: TypeAlias = Callable[[Array, Array], Sites]

_PRIOR_VARIANCE = 5.0
_MAX_FACTORS = 1000  # of at most two: 2^1000 is still finite


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated log-densities, and their standard errors; −inf and NaN where no approximation was found."""

    log_prob: Array
    standard_error: Array


class GPClassification:
    r"""The marginal posterior of log length-scales :math:`\theta` (Han & Liu, 2018, Section 5.4),

    .. math:: \hat p(\theta) = p(\theta)\, \frac1m \sum_{i=1}^m
              \frac{p(Y \mid f_i)\, p(f_i \mid \theta)}{q(f_i \mid \theta)}, \qquad f_i \sim q(f \mid \theta),

    an unbiased estimate of :math:`p(\theta)\, p(Y \mid \theta)`. Labels are logistic in f, f is a Gaussian process with
    the covariance :math:`\exp(-\tfrac12 \|(z - z') / e^\theta\|^2)`, the prior is :math:`N(0, 5 I)`, and q approximates
    the posterior of f.

    Parameters
    ----------
    features : (N, d) array_like
    labels : (N,) array_like
        −1 or 1.
    approximation : ExpectationPropagation or Laplace
        The q.
    num_samples : int
        The m, even: they come in pairs, with a noise and its negative.
    ridge : float
        Added to the diagonal of the process's covariance: data may have equal rows.
    seed : int, optional
        The same noise for every call and every :math:`\theta` (common random numbers), so that the estimate is a
        function. If not given, the noise is fresh, as pseudo-marginal chains need it: from the generators that
        :func:`steinbox.sample` gives to ``log_prob``, or from one of the target's own.

    Attributes
    ----------
    num_failures : int
        Points so far where no approximation was found; the density counts as zero there.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> features = rng.standard_normal((30, 2))
    >>> target = GPClassification(features, np.sign(features[:, 0]), seed=0)
    >>> relevant, irrelevant = target.log_prob(np.array([[0.0, 3.0], [3.0, 0.0]]))
    >>> bool(relevant > irrelevant + 5)
    True
    """

    def __init__(
        self,
        features: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        approximation: Approximation | None = None,
        num_samples: int = 100,
        ridge: float = 1e-3,
        seed: int | None = None,
    ) -> None:
        z, y = np.asarray(features, dtype=np.float64), np.asarray(labels, dtype=np.float64)
        if z.ndim != 2 or y.shape != z.shape[:1] or not np.isfinite(z).all() or not np.isin(y, (-1.0, 1.0)).all():
            raise ValueError(
                f"GPClassification expects finite features (N, d) and labels (N,) of -1 and 1, got {z.shape}, {y.shape}"
            )
        if num_samples < 4 or num_samples % 2:
            raise ValueError(f"GPClassification expects num_samples of at least 4, an even number, got {num_samples}")
        self.features, self.labels = z, y
        self.approximation = ExpectationPropagation() if approximation is None else approximation
        self.num_samples, self.ridge = num_samples, ridge
        self.prior = Gaussian(np.zeros(z.shape[1]), std=np.sqrt(_PRIOR_VARIANCE))
        self.num_failures = 0
        self._rng = np.random.default_rng(seed)
        self._common_noise = None if seed is None else self._rng.standard_normal((num_samples // 2, len(y)))

    @property
    def dimension(self) -> int:
        """The number of length-scales d."""
        return int(self.features.shape[1])

    def log_prob(self, x: Array, rng: Sequence[np.random.Generator] | None = None) -> Array:
        """Estimates of the log-density, up to a constant, at the rows of ``x``; fresh noise from a generator each."""
        return self.estimate(x, rng).log_prob

    def estimate(self, x: Array, rng: Sequence[np.random.Generator] | None = None) -> Estimate:
        """Estimates of the log-density at the rows of ``x``, with their standard errors."""
        generators = [self._rng] * len(x) if rng is None else rng
        pairs = np.array([self._log_marginal(*each) for each in zip(x, generators, strict=True)]).reshape(len(x), 2)
        return Estimate(pairs[:, 0] + self.prior.log_prob(x), pairs[:, 1])

    def covariance(self, theta: Array) -> Array:
        """The process's covariance at the features, with the ridge."""
        exponents = scipy.spatial.distance.pdist(self.features / np.exp(theta), "sqeuclidean")
        exponents *= -0.5
        covariance = scipy.spatial.distance.squareform(np.exp(exponents, out=exponents), checks=False)
        np.fill_diagonal(covariance, 1 + self.ridge)
        return np.asarray(covariance)

    def _log_marginal(self, theta: Array, rng: np.random.Generator) -> tuple[float, float]:
        """The logarithm of the estimate of p(Y | θ), and its standard error."""
        try:
            with np.errstate(over="ignore"):
                sites = self.approximation(self.covariance(theta), self.labels)
            log_terms = self._log_terms(sites, rng)
        except ApproximationError:
            log_terms = np.array([-np.inf])
        if not np.isfinite(log_terms).all():
            self.num_failures += 1
            return -np.inf, np.nan
        terms = np.exp(log_terms - log_terms.max()).reshape(2, -1).mean(axis=0)  # the mean of each pair
        error = terms.std(ddof=1) / terms.mean() / np.sqrt(len(terms))
        return float(logsumexp(log_terms) - np.log(len(log_terms))), float(error)

    def _log_terms(self, sites: Sites, rng: np.random.Generator) -> Array:
        noise = self._common_noise
        if noise is None:
            noise = rng.standard_normal((self.num_samples // 2, len(self.labels)))
        deviations = sites.deviations(noise)
        f = np.concatenate([sites.mean + deviations, sites.mean - deviations])
        return log_likelihoods(f * self.labels) + sites.log_prior_ratio(f)


def log_likelihoods(margins: Array) -> Array:
    r"""The logistic log-likelihoods of the rows, with one logarithm for many factors that are between one and two,

    .. math:: \sum_i -\log(1 + e^{-m_i}) = \sum_i \min(m_i, 0) - \log \prod_i (1 + e^{-|m_i|}) .

    Examples
    --------
    >>> import numpy as np
    >>> log_likelihoods(np.array([[0.0, 0.0, 1000.0], [-1000.0, 0.0, 0.0]])).round(3)
    array([   -1.386, -1001.386])
    """
    factors = np.exp(-np.abs(margins))
    factors += 1
    products = np.multiply.reduceat(factors, np.arange(0, margins.shape[1], _MAX_FACTORS), axis=1)
    return np.asarray(np.minimum(margins, 0).sum(axis=1) - np.log(products).sum(axis=1))
