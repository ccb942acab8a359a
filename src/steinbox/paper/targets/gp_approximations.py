r"""Gaussian approximations of the posterior of latent values f under a prior N(0, K) and logistic likelihoods.

Both have the form :math:`q(f) \propto N(f; 0, K)\, e^{\nu^\top f - \frac12 f^\top T f}` with a diagonal
:math:`T > 0`, one "site" for every label. With :math:`M = K + T^{-1}`, which is far from singular where K is not,

.. math:: \Sigma = (K^{-1} + T)^{-1} = T^{-1} - T^{-1} M^{-1} T^{-1}, \qquad \mu = \Sigma \nu .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import expit, log_expit

from steinbox.common.arrays import Array

_MIN_PRECISION = 1e-6  # of a site, so that it can be inverted
_MAX_HALVINGS = 12  # of a Newton step
_MIN_GAIN_TO_REFACTOR = 1e-2  # nats: a step with a smaller expected gain keeps the last decomposition
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


class ApproximationError(RuntimeError):
    """No approximation was found."""


@dataclass(frozen=True, eq=False)
class Sites:
    """A Gaussian approximation: site precisions and shifts, and what follows from them.

    ``covariance`` is Σ, of which only the lower triangle is filled; the determinant is that of M T.
    """

    precision: Array
    shift: Array
    mean: Array
    covariance: Array
    half_log_determinant: float

    @property
    def variances(self) -> Array:
        """The diagonal of the covariance."""
        return np.diag(self.covariance)

    def deviations(self, noise: Array) -> Array:
        """Deviations of draws (m, N) from the mean, from standard normal noise (m, N)."""
        root = _cholesky(self.covariance.copy("F"))
        return np.asarray(scipy.linalg.blas.dtrmm(1.0, root, noise.T, lower=1).T)

    def log_prior_ratio(self, f: Array) -> Array:
        r"""The logarithms of prior over approximation at the rows of ``f``, in which :math:`K^{-1}` cancels,

        .. math:: \tfrac12 f^\top T f - \nu^\top f + \tfrac12 \mu^\top \nu - \tfrac12 \log|M T| .
        """
        constant = 0.5 * self.mean @ self.shift - self.half_log_determinant
        return np.asarray((f**2) @ (0.5 * self.precision) - f @ self.shift + constant)


def with_sites(covariance: Array, precision: Array, shift: Array) -> Sites:
    """The approximation with these sites, by one Cholesky decomposition and one inverse of M."""
    factor = _cholesky_of_sum(covariance, precision)
    half_log_determinant = float(np.log(np.diag(factor)).sum() + 0.5 * np.log(precision).sum())
    posterior, failure = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failure:
        raise ApproximationError("a Cholesky factor could not be inverted")
    posterior /= -precision
    posterior /= precision[:, None]
    _diagonal(posterior)[:] += 1 / precision
    mean = scipy.linalg.blas.dsymv(1.0, posterior, shift, lower=1)
    return Sites(precision, shift, mean, posterior, half_log_determinant)


def _cholesky_of_sum(covariance: Array, precision: Array) -> Array:
    """The lower root of M."""
    total = covariance.copy()
    _diagonal(total)[:] += 1 / precision
    return _cholesky(total.T)  # symmetric, and in the order that LAPACK works in without a copy


def _diagonal(matrix: Array) -> Array:
    """The diagonal, to be written to."""
    return np.asarray(np.einsum("ii->i", matrix))


@dataclass(frozen=True)
class Laplace:
    """The Laplace approximation: the likelihood's curvature at the posterior's mode, by Newton's method.

    Close to the mode the curvature hardly changes, and the last decomposition of M serves for the remaining steps.

    Parameters
    ----------
    tolerance : float
        Newton's method ends with a step whose expected gain in the log-posterior is less.
    max_steps : int
    """

    tolerance: float = 1e-12
    max_steps: int = 50

    def __call__(self, covariance: Array, labels: Array) -> Sites:
        dual = f = np.zeros(len(labels))  # the dual is K⁻¹f, without an inverse of K
        gain = np.inf
        for _ in range(self.max_steps):
            slope = labels * expit(-labels * f)
            if gain > _MIN_GAIN_TO_REFACTOR:
                factor = _cholesky_of_sum(covariance, _curvature(f))
            uphill = slope - dual
            dual_step = uphill - scipy.linalg.lapack.dpotrs(factor, covariance @ uphill, lower=1)[0]
            f_step = covariance @ dual_step
            gain = 0.5 * float(uphill @ f_step)
            if gain < self.tolerance:
                return _at_mode(covariance, labels, f + f_step)
            length = _line_search(labels, dual, dual_step, f, f_step)
            dual, f = dual + length * dual_step, f + length * f_step
        raise ApproximationError(f"Newton's method did not converge in {self.max_steps} steps")


def _at_mode(covariance: Array, labels: Array, f: Array) -> Sites:
    """The approximation whose sites match the likelihood's slope and curvature at f."""
    curvature = _curvature(f)
    return with_sites(covariance, curvature, curvature * f + labels * expit(-labels * f))


def _curvature(f: Array) -> Array:
    """Of the negative log-likelihood: the precisions of the sites."""
    return np.maximum(expit(f) * expit(-f), _MIN_PRECISION)


def _line_search(labels: Array, dual: Array, dual_step: Array, f: Array, f_step: Array) -> float:
    """The first of the lengths 1, 1/2, 1/4, ... with which the log-posterior does not fall."""

    def log_posterior(length: float) -> float:
        moved = f + length * f_step
        return float(log_expit(labels * moved).sum() - 0.5 * moved @ (dual + length * dual_step))

    before = log_posterior(0.0)
    return next((length for length in 0.5 ** np.arange(_MAX_HALVINGS) if log_posterior(length) >= before), 0.0)


@dataclass(frozen=True)
class ExpectationPropagation:
    r"""Expectation propagation (Minka, 2001) with all sites updated at once, damped.

    A site is chosen so that the cavity (the approximation without it) times it has the mean and variance of the cavity
    times the true likelihood, which come from Gauss-Hermite quadrature with 20 nodes. Few sweeps make as good a
    proposal for importance sampling as convergence does.

    Parameters
    ----------
    num_sweeps : int
        The maximum number of sweeps.
    tolerance : float
        Ends when no site parameter changes by more; 0 does all sweeps, which keeps the estimate smooth.
    damping : float
        The fraction of the step to the new site that is taken.
    """

    num_sweeps: int = 3
    tolerance: float = 0.0
    damping: float = 1.0

    def __call__(self, covariance: Array, labels: Array) -> Sites:
        prior = np.diag(covariance)  # the first sweep: without sites, the cavity is the prior, and nothing is factored
        sites = with_sites(covariance, *_match_moments(np.zeros(len(labels)), 1 / prior, labels))
        for _ in range(self.num_sweeps - 1):
            precision, shift = self._update(sites, labels)
            change = max(np.abs(precision - sites.precision).max(), np.abs(shift - sites.shift).max())
            sites = with_sites(covariance, precision, shift)
            if change < self.tolerance:
                return sites
        if self.tolerance > 0:
            raise ApproximationError(f"expectation propagation did not converge in {self.num_sweeps} sweeps")
        return sites

    def _update(self, sites: Sites, labels: Array) -> tuple[Array, Array]:
        cavity_precision = np.maximum(1 / sites.variances - sites.precision, 1e-10)
        cavity_mean = (sites.mean / sites.variances - sites.shift) / cavity_precision
        precision, shift = _match_moments(cavity_mean, cavity_precision, labels)
        return (
            np.asarray(sites.precision + self.damping * (precision - sites.precision)),
            np.asarray(sites.shift + self.damping * (shift - sites.shift)),
        )


def _match_moments(cavity_mean: Array, cavity_precision: Array, labels: Array) -> tuple[Array, Array]:
    """Precisions and shifts of the sites with which the cavities have the tilted moments."""
    mean, variance = tilted_moments(cavity_mean, 1 / cavity_precision, labels)
    precision = np.maximum(1 / variance - cavity_precision, _MIN_PRECISION)
    return precision, np.asarray(mean * (precision + cavity_precision) - cavity_mean * cavity_precision)


def tilted_moments(mean: Array, variance: Array, labels: Array) -> tuple[Array, Array]:
    """Mean and variance of N(mean, variance) times the logistic likelihood of each label.

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = tilted_moments(np.zeros(1), np.ones(1), np.ones(1))
    >>> mean.round(3), variance.round(3)
    (array([0.413]), array([0.829]))
    """
    f = mean[:, None] + np.sqrt(variance)[:, None] * _NODES
    log_weights = log_expit(labels[:, None] * f)
    weights = _NODE_WEIGHTS * np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    tilted_mean = (weights * f).sum(axis=1)
    tilted_variance = (weights * (f - tilted_mean[:, None]) ** 2).sum(axis=1)
    return np.asarray(tilted_mean), np.asarray(tilted_variance)


def _cholesky(matrix: Array) -> Array:
    factor, failure = scipy.linalg.lapack.dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if failure:
        raise ApproximationError("a matrix that should be positive definite is not, by rounding")
    return np.asarray(factor)
