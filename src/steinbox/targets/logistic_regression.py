"""The posterior of Bayesian logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from steinbox.common.arrays import Array, RNGLike


@dataclass(frozen=True, init=False, eq=False)
class LogisticRegression:
    r"""The posterior of coefficients with a prior :math:`N(0, \tau^2 I)` and labels :math:`\pm1`,

    .. math:: \log p(\beta) = -\sum_i \log(1 + e^{-y_i z_i^\top \beta}) - \tfrac{1}{2\tau^2}\|\beta\|^2 .

    Not normalized. Exact moments are unknown; :mod:`steinbox.baselines` can give long runs.

    Parameters
    ----------
    features : (N, d) array_like
        One row per case; put a column of ones in for an intercept.
    labels : (N,) array_like
        −1 or 1.
    prior_std : float
        The :math:`\tau`.

    Examples
    --------
    >>> import numpy as np
    >>> posterior = LogisticRegression([[1.0, 0.5], [1.0, -0.5]], [1, -1])
    >>> posterior.log_prob(np.zeros((1, 2))).round(3)
    array([-1.386])
    """

    features: Array
    labels: Array
    prior_std: float

    def __init__(self, features: npt.ArrayLike, labels: npt.ArrayLike, prior_std: float = 5.0) -> None:
        z, y = np.asarray(features, dtype=np.float64), np.asarray(labels, dtype=np.float64)
        if z.ndim != 2 or y.shape != z.shape[:1] or not np.isin(y, (-1.0, 1.0)).all() or not prior_std > 0:
            raise ValueError(
                "LogisticRegression expects features (N, d), labels (N,) of -1 and 1, and a positive prior_std, "
                f"got {z.shape}, {y.shape} and {prior_std}"
            )
        object.__setattr__(self, "features", z)
        object.__setattr__(self, "labels", y)
        object.__setattr__(self, "prior_std", float(prior_std))

    @classmethod
    def synthetic(cls, num_cases: int = 200, dimension: int = 5, rng: RNGLike = 0) -> LogisticRegression:
        """Standard normal features; coefficients and labels drawn from the model with ``prior_std=1``."""
        rng = np.random.default_rng(rng)
        features = rng.standard_normal((num_cases, dimension))
        probabilities = expit(features @ rng.standard_normal(dimension))
        return cls(features, np.where(rng.random(num_cases) < probabilities, 1.0, -1.0), prior_std=1.0)

    @property
    def dimension(self) -> int:
        """The number of coefficients d."""
        return int(self.features.shape[1])

    def log_prob(self, points: Array) -> Array:
        """Log-density up to a constant at the rows of ``points``."""
        margins = (points @ self.features.T) * self.labels
        return np.asarray(-np.logaddexp(0, -margins).sum(axis=1) - 0.5 * (points**2).sum(axis=1) / self.prior_std**2)

    def score(self, points: Array) -> Array:
        """Its gradient at the rows of ``points``."""
        margins = (points @ self.features.T) * self.labels
        return np.asarray((expit(-margins) * self.labels) @ self.features - points / self.prior_std**2)
