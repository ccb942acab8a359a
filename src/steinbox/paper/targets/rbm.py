"""The Gauss-Bernoulli restricted Boltzmann machine with its hidden units summed out."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from steinbox.common.arrays import Array

_MAX_HIDDEN_UNITS = 20  # their 2^20 states still fit into memory


@dataclass(frozen=True, init=False, eq=False)
class GaussBernoulliRBM:
    r"""The density over the visible units, the hidden ones summed out,

    .. math:: p(x) \propto \sum_{h \in \{\pm1\}^{d'}} \exp(x^\top B h + c_1^\top x + c_2^\top h - \tfrac12\|x\|^2).

    The sum over the hidden units is a product of cosh; all :math:`2^{d'}` states are enumerated for the normalizing
    constant, the moments and exact draws: given h, x is :math:`N(B h + c_1, I)`, and
    :math:`p(h) \propto \exp(\tfrac12 \|B h + c_1\|^2 + c_2^\top h)`.

    Parameters
    ----------
    couplings : (d, d') array_like
        The matrix B.
    visible_bias : (d,) array_like
        The vector :math:`c_1`.
    hidden_bias : (d',) array_like
        The vector :math:`c_2`.

    Examples
    --------
    >>> import numpy as np
    >>> machine = GaussBernoulliRBM([[2.0]], [0.0], [0.0])  # unit Gaussians at -2 and 2
    >>> machine.mean, machine.cov
    (array([0.]), array([[5.]]))
    """

    couplings: Array
    visible_bias: Array
    hidden_bias: Array
    _states: Array = field(repr=False)
    _log_weights: Array = field(repr=False)

    def __init__(self, couplings: npt.ArrayLike, visible_bias: npt.ArrayLike, hidden_bias: npt.ArrayLike) -> None:
        b, c1, c2 = (np.asarray(value, dtype=np.float64) for value in (couplings, visible_bias, hidden_bias))
        if b.ndim != 2 or c1.shape != b.shape[:1] or c2.shape != b.shape[1:]:
            raise ValueError(
                "GaussBernoulliRBM expects couplings (d, d'), visible_bias (d,) and hidden_bias (d',), "
                f"got {b.shape}, {c1.shape} and {c2.shape}"
            )
        if b.shape[1] > _MAX_HIDDEN_UNITS:
            raise ValueError(f"GaussBernoulliRBM expects at most {_MAX_HIDDEN_UNITS} hidden units, got {b.shape[1]}")
        states = np.array(list(product([-1.0, 1.0], repeat=b.shape[1])))
        log_weights = 0.5 * ((states @ b.T + c1) ** 2).sum(axis=1) + states @ c2
        for name, value in [("couplings", b), ("visible_bias", c1), ("hidden_bias", c2)]:
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_states", states)
        object.__setattr__(self, "_log_weights", log_weights)

    @property
    def dimension(self) -> int:
        """The number of visible units d."""
        return len(self.visible_bias)

    @property
    def mean(self) -> Array:
        """The exact mean."""
        return np.asarray(self.visible_bias + self.couplings @ (self.probabilities @ self._states))

    @property
    def cov(self) -> Array:
        """The exact covariance."""
        centered = self._states - self.probabilities @ self._states
        hidden = (centered * self.probabilities[:, None]).T @ centered
        return np.asarray(np.eye(self.dimension) + self.couplings @ hidden @ self.couplings.T)

    def log_prob(self, x: Array) -> Array:
        """Normalized log-density at the rows of ``x``."""
        field = x @ self.couplings + self.hidden_bias
        log_cosh = np.logaddexp(field, -field).sum(axis=1)  # log(2 cosh), summed over the hidden units
        log_normalizer = logsumexp(self._log_weights) + 0.5 * self.dimension * np.log(2 * np.pi)
        return np.asarray(log_cosh + x @ self.visible_bias - 0.5 * (x**2).sum(axis=1) - log_normalizer)

    def score(self, x: Array) -> Array:
        """Its gradient at the rows of ``x``."""
        field = x @ self.couplings + self.hidden_bias
        return np.asarray(np.tanh(field) @ self.couplings.T + self.visible_bias - x)

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        """Independent draws, (num_points, d)."""
        hidden = self._states[rng.choice(len(self._states), size=num_points, p=self.probabilities)]
        noise = rng.standard_normal((num_points, self.dimension))
        return np.asarray(hidden @ self.couplings.T + self.visible_bias + noise)

    @property
    def centers(self) -> Array:
        """The means of the unit Gaussians that the density is a mixture of, one for every hidden state, (2^d', d)."""
        return np.asarray(self._states @ self.couplings.T + self.visible_bias)

    @property
    def probabilities(self) -> Array:
        """Their weights."""
        return np.exp(self._log_weights - logsumexp(self._log_weights))
