r"""Gaussian approximations of the posterior of latent values f under a prior N(0, K) and logistic likelihoods.

Both have the form :math:`q(f) \propto N(f; 0, K)\, e^{\nu^\top f - \frac12 f^\top T f}` with a diagonal
:math:`T \ge 0`, one "site" for every label. With :math:`S = T^{1/2}` and :math:`B = I + S K S`, whose eigenvalues are
at least one,

.. math:: \Sigma = (K^{-1} + T)^{-1} = S^{-1} (I - B^{-1}) S^{-1}, \qquad \mu = \Sigma \nu .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import expit, log_expit

from steinbox.types import Array

_SMALLEST_SITE = 1e-6
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


class ApproximationError(RuntimeError):
    """No approximation was found."""


@dataclass(frozen=True, eq=False)
class Sites:
    """A Gaussian approximation: site precisions and shifts, and what follows from them.

    ``complement`` is I − B⁻¹, of which only the lower triangle is filled.
    """

    precision: Array
    shift: Array
    mean: Array
    complement: Array
    half_log_determinant: float

    @property
    def variances(self) -> Array:
        """The diagonal of the covariance."""
        return np.asarray(np.diag(self.complement) / self.precision)

    def sample(self, noise: Array) -> Array:
        """Draws (m, N) from standard normal noise (m, N)."""
        root = _cholesky(self.complement.copy("F"))
        standard = scipy.linalg.blas.dtrmm(1.0, root, noise.T, lower=1)
        return np.asarray(self.mean + standard.T / np.sqrt(self.precision))

    def log_prior_ratio(self, f: Array) -> Array:
        r"""The logarithms of prior over approximation at the rows of ``f``, in which :math:`K^{-1}` cancels,

        .. math:: \tfrac12 f^\top T f - \nu^\top f + \tfrac12 \mu^\top \nu - \tfrac12 \log|B| .
        """
        constant = 0.5 * self.mean @ self.shift - self.half_log_determinant
        return np.asarray((f**2) @ (0.5 * self.precision) - f @ self.shift + constant)


def with_sites(covariance: Array, precision: Array, shift: Array) -> Sites:
    """The approximation with these sites, by one Cholesky decomposition and one inverse of B."""
    root = np.sqrt(precision)
    factor = _cholesky_of_b(covariance, root)
    half_log_determinant = float(np.log(np.diag(factor)).sum())
    complement, failure = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failure:
        raise ApproximationError("B could not be inverted")
    np.negative(complement, out=complement)
    complement[np.diag_indices_from(complement)] += 1.0
    mean = scipy.linalg.blas.dsymv(1.0, complement, shift / root, lower=1) / root
    return Sites(precision, shift, mean, complement, half_log_determinant)


def _cholesky_of_b(covariance: Array, root: Array) -> Array:
    """The lower root of B = I + S K S."""
    b = root[:, None] * covariance
    b *= root
    b[np.diag_indices_from(b)] += 1.0
    return _cholesky(b.T)  # symmetric, and in the order that LAPACK works in without a copy


@dataclass(frozen=True)
class Laplace:
    """The Laplace approximation: the likelihood's curvature at the posterior's mode, by Newton's method.

    Parameters
    ----------
    tolerance : float
        Newton's method ends when the log-posterior rises by less.
    max_steps : int
    """

    tolerance: float = 1e-8
    max_steps: int = 50

    def __call__(self, covariance: Array, labels: Array) -> Sites:
        dual, objective = np.zeros(len(labels)), len(labels) * np.log(0.5)  # the dual is K⁻¹f, without an inverse of K
        for _ in range(self.max_steps):
            newton = _newton_dual(covariance, *_curvature_sites(labels, covariance @ dual))
            dual, rise = _line_search(covariance, labels, dual, newton, objective)
            objective += rise
            if rise < self.tolerance:
                return with_sites(covariance, *_curvature_sites(labels, covariance @ dual))
        raise ApproximationError(f"Newton's method did not converge in {self.max_steps} steps")


def _curvature_sites(labels: Array, f: Array) -> tuple[Array, Array]:
    """Precisions and shifts of the sites that match the likelihood's slope and curvature at f."""
    curvature = np.maximum(expit(f) * expit(-f), _SMALLEST_SITE)
    return curvature, np.asarray(curvature * f + labels * expit(-labels * f))


def _newton_dual(covariance: Array, precision: Array, shift: Array) -> Array:
    r"""The dual :math:`\nu - S B^{-1} S K \nu` of the mean of the approximation with these sites."""
    root = np.sqrt(precision)
    solved, _ = scipy.linalg.lapack.dpotrs(_cholesky_of_b(covariance, root), root * (covariance @ shift), lower=1)
    return np.asarray(shift - root * solved)


def _line_search(covariance: Array, labels: Array, dual: Array, newton: Array, objective: float) -> tuple[Array, float]:
    """The Newton step, halved until the log-posterior does not fall, and by how much that rose."""
    for length in 0.5 ** np.arange(12):
        candidate = dual + length * (newton - dual)
        f = covariance @ candidate
        rise = float(log_expit(labels * f).sum() - 0.5 * f @ candidate) - objective
        if rise >= 0:
            return candidate, rise
    return dual, 0.0


@dataclass(frozen=True)
class ExpectationPropagation:
    r"""Expectation propagation (Minka, 2001) with all sites updated at once, damped.

    A site is chosen so that the cavity (the approximation without it) times it has the mean and variance of the cavity
    times the true likelihood, which come from Gauss-Hermite quadrature with 20 nodes. Few sweeps make as good a
    proposal for importance sampling as convergence does.

    Parameters
    ----------
    num_sweeps : int
        At most so many sweeps.
    tolerance : float
        Ends when no site parameter changes by more; 0 does all sweeps, which keeps the estimate smooth.
    damping : float
        The part of the way to the new site that is taken.
    """

    num_sweeps: int = 3
    tolerance: float = 0.0
    damping: float = 1.0

    def __call__(self, covariance: Array, labels: Array) -> Sites:
        prior = np.diag(covariance)  # the first sweep: without sites, the cavity is the prior, and nothing is factored
        sites = with_sites(covariance, *_matched(np.zeros(len(labels)), 1 / prior, labels))
        for _ in range(self.num_sweeps - 1):
            precision, shift = self._updated(sites, labels)
            change = max(np.abs(precision - sites.precision).max(), np.abs(shift - sites.shift).max())
            sites = with_sites(covariance, precision, shift)
            if change < self.tolerance:
                return sites
        if self.tolerance > 0:
            raise ApproximationError(f"expectation propagation did not converge in {self.num_sweeps} sweeps")
        return sites

    def _updated(self, sites: Sites, labels: Array) -> tuple[Array, Array]:
        cavity_precision = np.maximum(1 / sites.variances - sites.precision, 1e-10)
        cavity_mean = (sites.mean / sites.variances - sites.shift) / cavity_precision
        precision, shift = _matched(cavity_mean, cavity_precision, labels)
        return (
            np.asarray(sites.precision + self.damping * (precision - sites.precision)),
            np.asarray(sites.shift + self.damping * (shift - sites.shift)),
        )


def _matched(cavity_mean: Array, cavity_precision: Array, labels: Array) -> tuple[Array, Array]:
    """Precisions and shifts of the sites with which the cavities have the tilted moments."""
    mean, variance = tilted_moments(cavity_mean, 1 / cavity_precision, labels)
    precision = np.maximum(1 / variance - cavity_precision, _SMALLEST_SITE)
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
