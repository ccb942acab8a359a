"""Targets with exact draws that steinbox itself does not have."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.stats import ortho_group

import steinbox as sb

SCHOOL_EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCHOOL_ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


@dataclass(frozen=True)
class Copies:
    """Independent copies of a target in the plane: first all their first coordinates, then all second ones."""

    number: int
    target: sb.targets.Banana | sb.targets.Ring = field(default_factory=sb.targets.Banana)

    @property
    def dimension(self) -> int:
        return 2 * self.number

    @property
    def mean(self) -> np.ndarray:
        return np.zeros(self.dimension)

    @property
    def cov(self) -> np.ndarray:
        return np.diag(np.repeat(np.diag(self.target.cov), self.number))

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return self.target.log_prob(self._pairs(x)).reshape(len(x), -1).sum(axis=1)

    def score(self, x: np.ndarray) -> np.ndarray:
        return self._joined(self.target.score(self._pairs(x)))

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return self._joined(self.target.sample(num_points * self.number, rng))

    def _pairs(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(len(x), 2, self.number).swapaxes(1, 2).reshape(-1, 2)

    def _joined(self, pairs: np.ndarray) -> np.ndarray:
        return pairs.reshape(-1, self.number, 2).swapaxes(1, 2).reshape(-1, self.dimension)


@dataclass(frozen=True, eq=False)
class Rotated:
    """A target turned by a random rotation, always the same."""

    target: Copies | sb.targets.Funnel

    @property
    def dimension(self) -> int:
        return self.target.dimension

    @cached_property
    def rotation(self) -> np.ndarray:
        return ortho_group.rvs(self.dimension, random_state=0)

    @property
    def mean(self) -> np.ndarray:
        return self.target.mean @ self.rotation

    @property
    def cov(self) -> np.ndarray:
        return self.rotation.T @ self.target.cov @ self.rotation

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return self.target.log_prob(x @ self.rotation.T)

    def score(self, x: np.ndarray) -> np.ndarray:
        return self.target.score(x @ self.rotation.T) @ self.rotation

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return self.target.sample(num_points, rng) @ self.rotation


@dataclass(frozen=True, eq=False)
class Shifted:
    """A target moved by the same distance in every coordinate."""

    target: sb.targets.StudentT
    distance: float

    @property
    def dimension(self) -> int:
        return self.target.dimension

    @property
    def mean(self) -> np.ndarray:
        return self.target.mean + self.distance

    @property
    def cov(self) -> np.ndarray:
        return self.target.cov

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return self.target.log_prob(x - self.distance)

    def score(self, x: np.ndarray) -> np.ndarray:
        return self.target.score(x - self.distance)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return self.target.sample(num_points, rng) + self.distance


class RoundMixture(sb.GaussianMixture):
    """A mixture of Gaussians with covariances s² I, fast for methods that ask for one point after the other."""

    @cached_property
    def centres(self) -> np.ndarray:
        return np.stack([component.mean for component in self.components])

    @cached_property
    def variances(self) -> np.ndarray:
        return np.array([component.cov[0, 0] for component in self.components])

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        squares = ((x[:, None] - self.centres) ** 2).sum(axis=2) / self.variances
        constants = np.log(self.weights) - 0.5 * self.dimension * np.log(2 * np.pi * self.variances)
        terms = constants - 0.5 * squares
        largest = terms.max(axis=1)
        return largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))


@dataclass(frozen=True)
class HalfNormal:
    """The standard normal restricted to positive coordinates: a wall of −inf around it."""

    dimension: int

    @property
    def mean(self) -> np.ndarray:
        return np.full(self.dimension, np.sqrt(2 / np.pi))

    @property
    def cov(self) -> np.ndarray:
        return (1 - 2 / np.pi) * np.eye(self.dimension)

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return np.where((x > 0).all(axis=1), -0.5 * (x**2).sum(axis=1), -np.inf)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return np.abs(rng.standard_normal((num_points, self.dimension)))


@dataclass(frozen=True)
class LogGamma:
    """Independent logarithms of Gamma variables: skew to the left."""

    dimension: int
    shape: float = 2.0

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return (self.shape * x - np.exp(x)).sum(axis=1)

    def score(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.shape - np.exp(x)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return np.log(rng.gamma(self.shape, size=(num_points, self.dimension)))


@dataclass(frozen=True)
class HybridRosenbrock:
    r"""The hybrid Rosenbrock density of Pagani, Wiegand & Nadarajah (2022).

    A first coordinate :math:`N(\mu, 1/2a)` from which chains of normals start, each with mean the square of the one
    before and variance :math:`1/2b`. The parameters are those of the article.
    """

    chain_length: int = 2
    num_chains: int = 2
    mu: float = 1.0
    a: float = 1 / 20
    b: float = 100 / 20

    @property
    def dimension(self) -> int:
        return 1 + self.chain_length * self.num_chains

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        chains = x[:, 1:].reshape(len(x), self.num_chains, self.chain_length)
        first = np.broadcast_to(x[:, :1, None], (len(x), self.num_chains, 1))
        before = np.concatenate([first, chains[:, :, :-1]], axis=2)
        return -self.a * (x[:, 0] - self.mu) ** 2 - self.b * ((chains - before**2) ** 2).sum(axis=(1, 2))

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        first = self.mu + rng.standard_normal(num_points) / np.sqrt(2 * self.a)
        columns = [first]
        for _ in range(self.num_chains):
            last = first
            for _ in range(self.chain_length):
                last = last**2 + rng.standard_normal(num_points) / np.sqrt(2 * self.b)
                columns.append(last)
        return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class NormalHierarchy:
    r"""Effects theta that were measured with known errors, around mu and with deviation tau, centered.

    Coordinates are mu, log tau and the effects; the priors are :math:`\mu \sim N(0, s^2)` and
    :math:`\tau \sim \mathrm{HalfCauchy}(s)`. Exact draws take log tau from its marginal density on a fine grid, then mu
    given tau and theta given both, which are normal.
    """

    effects: np.ndarray
    errors: np.ndarray
    scale: float

    @property
    def dimension(self) -> int:
        return 2 + len(self.effects)

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        mu, log_tau, theta = x[:, 0], x[:, 1], x[:, 2:]
        with np.errstate(over="ignore", invalid="ignore"):
            spread = (((theta - mu[:, None]) * np.exp(-log_tau)[:, None]) ** 2).sum(axis=1)
        fit = (((theta - self.effects) / self.errors) ** 2).sum(axis=1)
        return self._log_prior(log_tau) - 0.5 * ((mu / self.scale) ** 2 + spread + fit) - len(self.effects) * log_tau

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        grid = np.linspace(-15.0, 8.0, 20_001)
        log_marginal = self._log_marginal(grid)
        probabilities = np.exp(log_marginal - log_marginal.max())
        log_tau = rng.choice(grid, size=num_points, p=probabilities / probabilities.sum())
        log_tau += (grid[1] - grid[0]) * rng.uniform(-0.5, 0.5, size=num_points)
        precision, center = self._mu_given(log_tau)
        mu = center + rng.standard_normal(num_points) / np.sqrt(precision)
        tau_precision = np.exp(-2 * log_tau)[:, None]
        theta_precision = tau_precision + self.errors**-2
        theta_mean = (tau_precision * mu[:, None] + self.effects / self.errors**2) / theta_precision
        theta = theta_mean + rng.standard_normal(theta_mean.shape) / np.sqrt(theta_precision)
        return np.column_stack([mu, log_tau, theta])

    def _log_prior(self, log_tau: np.ndarray) -> np.ndarray:
        """Of log tau, with the Jacobian."""
        return log_tau - np.logaddexp(0, 2 * (log_tau - np.log(self.scale)))

    def _mu_given(self, log_tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Precision and mean of mu given tau and the data."""
        weights = 1 / (np.exp(2 * log_tau)[:, None] + self.errors**2)
        precision = weights.sum(axis=1) + self.scale**-2
        return precision, weights @ self.effects / precision

    def _log_marginal(self, log_tau: np.ndarray) -> np.ndarray:
        """Of log tau given the data: the likelihood at any mu, times its prior, over mu's conditional density."""
        variances = np.exp(2 * log_tau)[:, None] + self.errors**2
        precision, center = self._mu_given(log_tau)
        residuals = ((self.effects - center[:, None]) ** 2 / variances + np.log(variances)).sum(axis=1)
        return self._log_prior(log_tau) - 0.5 * (residuals + (center / self.scale) ** 2 + np.log(precision))


def eight_schools() -> NormalHierarchy:
    """The data of Rubin (1981)."""
    return NormalHierarchy(SCHOOL_EFFECTS, SCHOOL_ERRORS, scale=5.0)


@dataclass(frozen=True, eq=False)
class Logistic:
    """The synthetic logistic regression; its "exact" draws are those that ``logistic_reference.py`` wrote.

    There are 2,000 of them: whoever asks for more gets all.
    """

    draws: np.ndarray
    posterior: sb.targets.LogisticRegression = field(default_factory=sb.targets.LogisticRegression.synthetic)

    @property
    def dimension(self) -> int:
        return self.posterior.dimension

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return self.posterior.log_prob(x)

    def score(self, x: np.ndarray) -> np.ndarray:
        return self.posterior.score(x)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return rng.permutation(self.draws)[:num_points]


@dataclass(frozen=True)
class SineValleys:
    """Independent pairs: a normal coordinate of variance 4, and one that follows twice its sine within 0.3."""

    num_pairs: int

    @property
    def dimension(self) -> int:
        return 2 * self.num_pairs

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        first, second = x[:, : self.num_pairs], x[:, self.num_pairs :]
        return -0.5 * ((first / 2) ** 2 + ((second - 2 * np.sin(first)) / 0.3) ** 2).sum(axis=1)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        first = 2 * rng.standard_normal((num_points, self.num_pairs))
        return np.column_stack([first, 2 * np.sin(first) + 0.3 * rng.standard_normal(first.shape)])


@dataclass(frozen=True)
class Exponentials:
    """Independent exponential variables: steepest at a wall of −inf."""

    dimension: int

    @property
    def mean(self) -> np.ndarray:
        return np.ones(self.dimension)

    @property
    def cov(self) -> np.ndarray:
        return np.eye(self.dimension)

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return np.where((x > 0).all(axis=1), -x.sum(axis=1), -np.inf)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return rng.exponential(size=(num_points, self.dimension))


@dataclass(frozen=True)
class RandomEffects:
    """Group means around a common one, centred, with a log-scale that drives their spread: a funnel off the origin.

    The common mean is N(0, 1), the log-scale N(0, 1), each of the group means N(mean, scale²),
    and exact draws are simple.
    """

    num_groups: int

    @property
    def dimension(self) -> int:
        return 2 + self.num_groups

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        mean, log_scale, effects = x[:, 0], x[:, 1], x[:, 2:]
        with np.errstate(over="ignore"):
            squares = ((effects - mean[:, None]) ** 2).sum(axis=1) * np.exp(-2 * log_scale)
        return -0.5 * (mean**2 + log_scale**2 + squares) - self.num_groups * log_scale

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        mean, log_scale = rng.standard_normal((2, num_points, 1))
        effects = mean + np.exp(log_scale) * rng.standard_normal((num_points, self.num_groups))
        return np.column_stack([mean, log_scale, effects])


def scattered_modes(dimension: int, num_modes: int) -> RoundMixture:
    """Modes at random places, with random scales and weights, always the same."""
    rng = np.random.default_rng(11)
    places = 3 * rng.standard_normal((num_modes, dimension))
    components = [sb.Gaussian(place, std=float(rng.uniform(0.5, 1.5))) for place in places]
    return RoundMixture(components, rng.uniform(0.5, 1.5, size=num_modes))


@dataclass(frozen=True, eq=False)
class CorrelatedT:
    """A Student-t with random correlations, whose coordinates have scales from 0.1 to 10; always the same."""

    dimension: int
    dof: float

    @cached_property
    def root(self) -> np.ndarray:
        rng = np.random.default_rng(21)
        mixed = ortho_group.rvs(self.dimension, random_state=rng) * rng.uniform(0.3, 1.5, size=self.dimension)
        return np.geomspace(0.1, 10, self.dimension)[:, None] * mixed

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        z = np.linalg.solve(self.root, x.T)
        return -0.5 * (self.dof + self.dimension) * np.log1p((z**2).sum(axis=0) / self.dof)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        normal = rng.standard_normal((num_points, self.dimension)) @ self.root.T
        return normal / np.sqrt(rng.chisquare(self.dof, size=(num_points, 1)) / self.dof)


@dataclass(frozen=True, eq=False)
class SinhArcsinh:
    """A chain of normal variables with correlation 0.7 between neighbours, each bent by sinh(arcsinh(z) + 0.5)."""

    dimension: int

    @cached_property
    def normal(self) -> sb.Gaussian:
        return sb.targets.autoregressive(self.dimension, correlation=0.7)

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        angle = np.arcsinh(x) - 0.5
        log_slope = np.log(np.cosh(angle)) - 0.5 * np.log1p(x**2)
        return self.normal.log_prob(np.sinh(angle)) + log_slope.sum(axis=1)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return np.sinh(np.arcsinh(self.normal.sample(num_points, rng)) + 0.5)


@dataclass(frozen=True)
class Shell:
    """Directions are uniform, and the distance from the origin is N(4, 0.3²)."""

    dimension: int

    @property
    def mean(self) -> np.ndarray:
        return np.zeros(self.dimension)

    @property
    def cov(self) -> np.ndarray:
        return (4.0**2 + 0.3**2) / self.dimension * np.eye(self.dimension)

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        distance = np.linalg.norm(x, axis=1)
        with np.errstate(divide="ignore"):
            return -0.5 * ((distance - 4) / 0.3) ** 2 - (self.dimension - 1) * np.log(distance)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        directions = rng.standard_normal((num_points, self.dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return directions * rng.normal(4, 0.3, size=(num_points, 1))


@dataclass(frozen=True)
class DirichletLogits:
    """The posterior of shares after few counts under a flat prior, as logarithms of their ratios to the last."""

    counts: tuple[int, ...] = (0, 0, 1, 2, 4, 8, 15, 10)

    @property
    def dimension(self) -> int:
        return len(self.counts) - 1

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        logits = np.column_stack([x, np.zeros(len(x))])
        log_shares = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return log_shares @ (np.array(self.counts) + 1.0)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        log_shares = np.log(rng.dirichlet(np.array(self.counts) + 1.0, size=num_points))
        return log_shares[:, :-1] - log_shares[:, -1:]


def spike_and_slab(dimension: int) -> RoundMixture:
    """A narrow Gaussian within a wide one, each with half of the mass."""
    return RoundMixture([sb.Gaussian(np.zeros(dimension), std=0.3), sb.Gaussian(np.zeros(dimension), std=2.0)])


def unequal_modes(dimension: int) -> sb.GaussianMixture:
    """Three Gaussians of different shapes with 60, 30 and 10 percent of the mass, always the same."""
    rng = np.random.default_rng(22)
    components = []
    for _ in range(3):
        axes = ortho_group.rvs(dimension, random_state=rng) * rng.uniform(0.4, 1.6, size=dimension)
        components.append(sb.Gaussian(6 * random_direction(dimension, rng), cov=axes @ axes.T))
    return sb.GaussianMixture(components, [0.6, 0.3, 0.1])


def random_direction(dimension: int, rng: np.random.Generator) -> np.ndarray:
    """A random direction."""
    direction = rng.standard_normal(dimension)
    return direction / np.linalg.norm(direction)


@dataclass(frozen=True, eq=False)
class Mirrored:
    """A target and its mirror image, each with half of the mass."""

    target: Copies

    @property
    def dimension(self) -> int:
        return self.target.dimension

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return np.logaddexp(self.target.log_prob(x), self.target.log_prob(-x)) - np.log(2)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return self.target.sample(num_points, rng) * rng.choice([-1.0, 1.0], size=(num_points, 1))


@dataclass(frozen=True, eq=False)
class TwoTs:
    """Two Student-t distributions with five degrees of freedom, the second twice as wide; 60 and 40 percent."""

    dimension: int

    @cached_property
    def part(self) -> sb.targets.StudentT:
        return sb.targets.StudentT(self.dimension, dof=5.0)

    @cached_property
    def place(self) -> np.ndarray:
        return 5 * random_direction(self.dimension, np.random.default_rng(31))

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        wide = self.part.log_prob((x + self.place) / 2) - self.dimension * np.log(2)
        return np.logaddexp(np.log(0.6) + self.part.log_prob(x - self.place), np.log(0.4) + wide)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        draws = self.part.sample(num_points, rng)
        is_first = rng.random((num_points, 1)) < 0.6
        return np.where(is_first, draws + self.place, 2 * draws - self.place)


@dataclass(frozen=True, eq=False)
class RotatedLaplace:
    """Independent Laplace variables, turned by a random rotation that is always the same: a density with edges."""

    dimension: int

    @cached_property
    def rotation(self) -> np.ndarray:
        return ortho_group.rvs(self.dimension, random_state=np.random.default_rng(32))

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return -np.abs(x @ self.rotation).sum(axis=1)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(size=(num_points, self.dimension)) @ self.rotation.T


def wide_scales(dimension: int) -> sb.Gaussian:
    """A Gaussian whose standard deviations go from 0.01 to 10 along random axes, always the same."""
    axes = ortho_group.rvs(dimension, random_state=np.random.default_rng(33)) * np.geomspace(0.01, 10, dimension)
    return sb.Gaussian(np.zeros(dimension), cov=axes @ axes.T)


def spiral(num_components: int) -> RoundMixture:
    """A spiral of two turns in the plane, as a chain of Gaussians."""
    angles = np.linspace(1.0, 4 * np.pi, num_components)
    places = 0.5 * angles[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return RoundMixture([sb.Gaussian(place, std=0.3) for place in places])


@dataclass(frozen=True)
class IndependentTs:
    """Independent Student-t variables with three degrees of freedom: tails along the axes."""

    dimension: int

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return -2 * np.log1p(x**2 / 3).sum(axis=1)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_t(3, size=(num_points, self.dimension))


@dataclass(frozen=True, eq=False)
class Crescents:
    """Two bananas in four dimensions, turned, with 70 percent of the mass, and half as large and elsewhere with 30."""

    dimension: int = 4

    @cached_property
    def parts(self) -> tuple[Copies, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(41)
        turn = ortho_group.rvs(4, random_state=rng)
        return Copies(2), turn, 8 * random_direction(4, rng)

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        bananas, turn, place = self.parts
        small = bananas.log_prob(2 * (x - place) @ turn[::-1].T) + 4 * np.log(2)
        return np.logaddexp(np.log(0.7) + bananas.log_prob(x @ turn.T), np.log(0.3) + small)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        bananas, turn, place = self.parts
        draws = bananas.sample(num_points, rng)
        is_first = rng.random((num_points, 1)) < 0.7
        return np.where(is_first, draws @ turn, place + 0.5 * draws @ turn[::-1])


@dataclass(frozen=True)
class CubicValley:
    """A normal coordinate, one that follows its cube, and one that follows the sine of that, within 0.4."""

    dimension: int = 3

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        first, second, third = x.T
        return -0.5 * (first**2 + ((second - first**3) / 0.4) ** 2 + ((third - np.sin(second)) / 0.4) ** 2)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        first, second, third = rng.standard_normal((3, num_points))
        second = first**3 + 0.4 * second
        return np.column_stack([first, second, np.sin(second) + 0.4 * third])
