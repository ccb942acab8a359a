r"""Regression of noisy values on a smooth function of few parameters, for many points.

Values at points :math:`z_1, \dots, z_n` are modeled as

.. math:: y_i = f_i + \varepsilon_i, \qquad f_i = h(z_i)^\top c + r_i, \qquad
          c \sim N(0, I), \quad r_i \sim N(0, \tau_i^2), \quad \varepsilon_i \sim N(0, \sigma^2),

with P features h: a smooth function, what it leaves of f, and noise. With :math:`v_i = \sigma^2 + \tau_i^2`,
:math:`V = \operatorname{diag}(v)` and :math:`A = I + H^\top V^{-1} H` the posterior mean of f is

.. math:: \hat f = \hat a + \kappa (y - \hat a), \qquad \hat a = H A^{-1} H^\top V^{-1} y, \qquad
          \kappa_i = \tau_i^2 / v_i ,

a linear map :math:`\hat f = S y` (Rasmussen & Williams, 2006, sections 2.1 and 8.3.1). It costs :math:`n P^2`.

References
----------
C. E. Rasmussen & C. K. I. Williams (2006). *Gaussian Processes for Machine Learning*. MIT Press.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import squared_distances

_JITTER = 1e-8  # relative, of the diagonal: features far out, or centers, may be all but the same


@dataclass(frozen=True, eq=False)
class LowRankRegression:
    r"""The regression of values (n,) on features (n, P).

    Attributes
    ----------
    features : (n, P) array
        The H.
    values : (n,) array
        The y.
    noise : float
        The standard deviation :math:`\sigma`.
    misfit : (n,) array
        The standard deviations :math:`\tau_i` of what no feature explains.

    Examples
    --------
    >>> import numpy as np
    >>> z, rng = np.linspace(-1, 1, 500), np.random.default_rng(0)
    >>> features = 10 * np.column_stack([np.ones(500), z, z**2])
    >>> values = z**2 + 0.5 * rng.standard_normal(500)
    >>> regression = LowRankRegression(features, values, 0.5, np.zeros(500))
    >>> bool(abs(regression.mean - z**2).max() < 0.15)
    True
    """

    features: Array = field(repr=False)
    values: Array = field(repr=False)
    noise: float
    misfit: Array = field(repr=False)

    @cached_property
    def _variance(self) -> Array:
        return self.noise**2 + self.misfit**2

    @cached_property
    def _root(self) -> Array:
        """The Cholesky root of A."""
        scaled = self.features / np.sqrt(self._variance)[:, None]
        moments = scaled.T @ scaled
        diagonal = np.diag_indices_from(moments)
        moments[diagonal] = 1 + (1 + _JITTER) * moments[diagonal]
        return np.asarray(scipy.linalg.cho_factor(moments, lower=True, check_finite=False)[0])

    @cached_property
    def coefficients(self) -> Array:
        """The posterior mean of c."""
        return self._solve(self.features.T @ (self.values / self._variance))

    @cached_property
    def own_share(self) -> Array:
        r"""The :math:`\kappa_i`: of a value's deviation from the smooth function, the part that is not noise."""
        return np.asarray(self.misfit**2 / self._variance)

    @property
    def smooth(self) -> Array:
        r"""The smooth function's :math:`\hat a`."""
        return self.features @ self.coefficients

    @property
    def mean(self) -> Array:
        r"""The posterior mean :math:`\hat f`."""
        return self.smooth + self.own_share * (self.values - self.smooth)

    def predict(self, features: Array) -> Array:
        """The smooth function's posterior mean where the features (m, P) are these."""
        return np.asarray(features @ self.coefficients)

    def deviations(self, features: Array) -> Array:
        """Columns (P, m) whose products are the smooth function's posterior covariances there."""
        return np.asarray(scipy.linalg.solve_triangular(self._root, features.T, lower=True, check_finite=False))

    def variance_of_mean(self, weights: Array) -> float:
        r"""The posterior variance of :math:`\sum_i w_i f_i`."""
        own = self.own_share
        along = self.features.T @ ((1 - own) * weights)
        return float(along @ self._solve(along) + self.noise**2 * (own @ weights**2))

    @property
    def log_likelihood(self) -> float:
        """Of the values, up to a constant."""
        along = self.features.T @ (self.values / self._variance)
        fit = self.values @ (self.values / self._variance) - along @ self.coefficients
        log_determinant = np.log(self._variance).sum() + 2 * np.log(np.diag(self._root)).sum()
        return float(-0.5 * (log_determinant + fit))

    def _solve(self, right: Array) -> Array:
        return np.asarray(scipy.linalg.cho_solve((self._root, True), right, check_finite=False))


def nystroem_features(z: Array, centers: Array, bandwidth: float) -> Array:
    r"""Features (n, m) whose products are the kernel, as far as m centers span it (Nyström's method),

    .. math:: h(z) = L^{-1} k(z), \qquad L L^\top = k(\text{centers}, \text{centers}),

    for :math:`k = \exp(-\|z - z'\|^2 / h)`. At the centers themselves the products are exact.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.random.default_rng(0).standard_normal((20, 2))
    >>> features = nystroem_features(z, z, 1.0)
    >>> bool(np.allclose(features[3] @ features[5], np.exp(-((z[3] - z[5]) ** 2).sum()), atol=1e-5))
    True
    """
    kernel = RBF()
    gram = kernel.value(squared_distances(centers, centers) / bandwidth)
    gram[np.diag_indices_from(gram)] += _JITTER
    cross = kernel.value(squared_distances(centers, z) / bandwidth)
    root = np.linalg.cholesky(gram)
    return np.asarray(scipy.linalg.solve_triangular(root, cross, lower=True, check_finite=False).T)
