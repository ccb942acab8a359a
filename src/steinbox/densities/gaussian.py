"""The Gaussian: an initial distribution, a surrogate and a target at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from steinbox.common.arrays import Array, RNGLike
from steinbox.common.serialization import serializable

Covariance = Literal["full", "diagonal", "isotropic"]


@serializable("gaussian")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Gaussian:
    r"""The normal distribution :math:`N(\mu, \Sigma)` in d dimensions.

    Its spread is given by name, so that it can never be misread: ``std`` (a number or one per coordinate) or ``cov``
    (a matrix). The paper's :math:`N(\mu, \sigma I)` has *variance* :math:`\sigma`.

    Parameters
    ----------
    mean : (d,) array_like
        A plain number is a one-dimensional mean.
    std : float or (d,) array_like, optional
        Standard deviation(s) of independent coordinates.
    cov : (d, d) array_like, optional
        Covariance matrix. Exactly one of ``std`` and ``cov`` is given.

    Examples
    --------
    >>> import numpy as np
    >>> gaussian = Gaussian([0.0, 1.0], std=2.0)
    >>> gaussian
    <steinbox.Gaussian: mean [0. 1.], std [2. 2.]>
    >>> gaussian.cov
    array([[4., 0.],
           [0., 4.]])
    >>> gaussian.score(np.array([[2.0, 1.0]]))
    array([[-0.5, -0. ]])
    """

    mean: Array
    cov: Array
    root: Array
    inverse_root: Array

    def __init__(
        self, mean: npt.ArrayLike, *, std: npt.ArrayLike | None = None, cov: npt.ArrayLike | None = None
    ) -> None:
        mean = np.atleast_1d(np.asarray(mean, dtype=np.float64))
        if mean.ndim != 1 or mean.size == 0 or not np.all(np.isfinite(mean)):
            raise ValueError(f"Gaussian expects a finite mean of shape (d,), got {_describe(mean)}")
        covariance = _covariance(len(mean), std, cov)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "cov", covariance)
        root = cholesky_roots(covariance)
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "inverse_root", scipy.linalg.solve_triangular(root, np.eye(len(mean)), lower=True))

    @classmethod
    def fit(cls, points: Array, weights: Array | None = None, covariance: Covariance = "full") -> Gaussian:
        """The Gaussian with the (weighted) mean and covariance of the points.

        Parameters
        ----------
        points : (n, d) array
        weights : (n,) array, optional
            Normalized; equal if not given.
        covariance : {"full", "diagonal", "isotropic"}
            A full covariance is shrunk towards its diagonal by d / (d + n): with few points the raw one is singular.
        """
        num_points, dimension = points.shape
        weights = np.full(num_points, 1 / num_points) if weights is None else weights
        mean = weights @ points
        centered = points - mean
        variances = weights @ centered**2
        if not np.all(variances > 0):
            raise ValueError("expected points that differ in every coordinate to fit a Gaussian to")
        if covariance == "isotropic":
            return cls(mean, std=np.sqrt(variances.mean()))
        if covariance == "diagonal":
            return cls(mean, std=np.sqrt(variances))
        if covariance != "full":
            raise ValueError(f"expected covariance 'full', 'diagonal' or 'isotropic', got {covariance!r}")
        shrinkage = dimension / (dimension + num_points)
        full = (centered * weights[:, None]).T @ centered
        return cls(mean, cov=(1 - shrinkage) * full + shrinkage * np.diag(variances))

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return len(self.mean)

    def log_prob(self, points: Array) -> Array:
        """Normalized log-density at the rows of ``points``."""
        standard = self._standardize(points)
        log_determinant = np.log(np.diag(self.root)).sum()
        return np.asarray(-0.5 * (standard**2).sum(axis=1) - log_determinant - 0.5 * self.dimension * np.log(2 * np.pi))

    def score(self, points: Array) -> Array:
        r"""The gradient :math:`-\Sigma^{-1}(x - \mu)` of the log-density at the rows of ``points``."""
        return np.asarray(-(self._standardize(points) @ self.inverse_root))

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, d)."""
        rng = np.random.default_rng(rng)
        return np.asarray(self.mean + rng.standard_normal((num_points, self.dimension)) @ self.root.T)

    def quasi_random(self, num_points: int, rng: RNGLike = None) -> Array:
        """Draws, (num_points, d), that fill it more evenly than independent ones."""
        rng = np.random.default_rng(rng)
        return np.asarray(self.mean + quasi_random_normal(num_points, self.dimension, rng) @ self.root.T)

    def __repr__(self) -> str:
        stds = np.sqrt(np.diag(self.cov))
        mean, std = (np.array2string(each, precision=4, threshold=8, edgeitems=2) for each in (self.mean, stds))
        correlated = "" if np.array_equal(self.cov, np.diag(np.diag(self.cov))) else ", correlated"
        return f"<steinbox.Gaussian: mean {mean}, std {std}{correlated}>"

    def _standardize(self, points: Array) -> Array:
        return np.asarray((points - self.mean) @ self.inverse_root.T)


def quasi_random_normal(num_points: int, dimension: int, rng: np.random.Generator) -> Array:
    """Scrambled Sobol points as draws of the standard normal distribution, (num_points, dimension).

    Each by itself has that distribution (Owen, 1997), so that importance weights stay valid.

    Examples
    --------
    >>> import numpy as np
    >>> bool(np.abs(quasi_random_normal(256, 2, np.random.default_rng(0)).mean(axis=0)).max() < 0.01)
    True
    """
    seed = int(rng.integers(2**63))  # a generator would be spawned from, and its saved state does not count spawns
    sobol = scipy.stats.qmc.Sobol(dimension, scramble=True, rng=seed)
    uniform = sobol.random_base2(int(np.ceil(np.log2(max(num_points, 2)))))[:num_points]
    return np.asarray(scipy.special.ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)))


def _covariance(dimension: int, std: npt.ArrayLike | None, cov: npt.ArrayLike | None) -> Array:
    if (std is None) == (cov is None):
        raise ValueError("Gaussian expects exactly one of std= (standard deviations) and cov= (a covariance matrix)")
    if std is not None:
        std = np.asarray(std, dtype=np.float64)
        if std.shape not in [(), (1,), (dimension,)] or not np.all(np.isfinite(std) & (std > 0)):
            raise ValueError(f"Gaussian expects a positive std, a number or shape ({dimension},), got {_describe(std)}")
        return np.diag(np.broadcast_to(std, dimension) ** 2)
    cov = np.asarray(cov, dtype=np.float64)
    if cov.shape != (dimension, dimension) or not np.all(np.isfinite(cov)) or not _is_symmetric(cov):
        raise ValueError(f"Gaussian expects a symmetric cov of shape ({dimension}, {dimension}), got {_describe(cov)}")
    return cov


def _is_symmetric(matrix: Array) -> bool:
    """As ``allclose`` says, which takes longer: a mixture is made of many matrices."""
    return bool(np.all(np.abs(matrix - matrix.T) <= 1e-8 + 1e-5 * np.abs(matrix)))


def cholesky_roots(covariances: Array) -> Array:
    """Lower triangular roots of a covariance matrix, or of each in a stack of them."""
    try:
        return np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(covariances).min()
        raise ValueError(
            f"Gaussian expects a positive definite cov; its smallest eigenvalue is {smallest:.3g}"
        ) from None


def _describe(values: Array) -> str:
    return f"shape {values.shape}" + (f": {values.tolist()}" if values.size <= 9 else "")
