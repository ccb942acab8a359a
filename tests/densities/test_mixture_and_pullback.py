"""Densities behind maps and mixtures of them: normalized, with their own score, draws and responsibilities."""

import numpy as np
import pytest
from scipy import stats

import steinbox as sb
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.triangular_map import fit_triangular_map
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback
from steinbox.maps.coordinates import Whitened

GAUSSIANS = sb.GaussianMixture([sb.Gaussian([-1.0, 0.0], std=0.5), sb.Gaussian([1.0, 0.5], std=[1.0, 0.3])], [1, 2])
BANANA = sb.targets.Banana().sample(500, np.random.default_rng(0))
CURVE = fit_triangular_map(WeightedPoints(BANANA, np.full(500, 1 / 500), 500), curved=True)
AFFINE = Whitened().fit(BANANA + np.array([3.0, -2.0]))
BEHIND = Pullback(CURVE, GAUSSIANS)
BOTH = Mixture([BEHIND, Pullback(AFFINE, GAUSSIANS), GAUSSIANS], weights=[2, 1, 1])
DENSITIES = {"gaussians": GAUSSIANS, "pullback": BEHIND, "mixture": BOTH, "nested": Mixture([BOTH, BEHIND])}
EVERY = pytest.mark.parametrize("density", DENSITIES.values(), ids=DENSITIES)


@EVERY
def test_it_is_normalized(density):
    first, second = np.linspace(-25, 25, 1001), np.linspace(-40, 90, 2601)
    grid = np.array(np.meshgrid(first, second)).reshape(2, -1).T
    area = (first[1] - first[0]) * (second[1] - second[0])
    assert np.exp(density.log_prob(grid)).sum() * area == pytest.approx(1, abs=2e-3)


@EVERY
def test_its_score_is_the_gradient(density):
    points, step = density.sample(50, np.random.default_rng(1)), 1e-5
    ends = [(density.log_prob(points + step * axis), density.log_prob(points - step * axis)) for axis in np.eye(2)]
    slopes = np.array([(after - before) / (2 * step) for after, before in ends]).T
    np.testing.assert_allclose(density.score(points), slopes, rtol=1e-4, atol=1e-4)


@EVERY
@pytest.mark.parametrize("draw", ["sample", "quasi_random"])
def test_draws_have_its_density(density, draw):
    """The first coordinate, against its marginal by sums over a grid."""
    draws = getattr(density, draw)(4000, np.random.default_rng(2))
    first, second = np.linspace(-25, 25, 1001), np.linspace(-40, 90, 1301)
    grid = np.array(np.meshgrid(first, second, indexing="ij")).reshape(2, -1).T
    marginal = np.exp(density.log_prob(grid)).reshape(len(first), -1).sum(axis=1)
    cdf = np.cumsum(marginal) / marginal.sum()
    uniform = np.interp(draws[:, 0], first + 0.5 * (first[1] - first[0]), cdf)
    assert stats.kstest(uniform, "uniform").pvalue > 1e-3


@EVERY
def test_responsibilities_are_shares_of_the_density(density):
    points = density.sample(30, np.random.default_rng(3))
    shares = density.responsibilities(points)
    assert shares.shape == (30, density.num_components)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_responsibilities_of_a_mixture_are_those_of_its_parts():
    points = BOTH.sample(30, np.random.default_rng(3))
    expected = [0.5 * BEHIND.responsibilities(points) * np.exp(BEHIND.log_prob(points))[:, None]]
    expected += [0.25 * GAUSSIANS.responsibilities(points) * np.exp(GAUSSIANS.log_prob(points))[:, None]]
    shares = BOTH.responsibilities(points) * np.exp(BOTH.log_prob(points))[:, None]
    np.testing.assert_allclose(shares[:, [0, 1, 4, 5]], np.column_stack(expected), rtol=1e-9, atol=1e-300)


@EVERY
def test_components_are_scaled_where_they_are_gaussian(density):
    """Copies of the same width change nothing; of a much smaller one they stay near the components' middles."""
    points = density.sample(30, np.random.default_rng(3))
    np.testing.assert_allclose(density.scale_components([1.0, 1.0]).log_prob(points), density.log_prob(points))
    narrow = density.scale_components([1e-3, 1e-4])
    assert narrow.num_components == 2 * density.num_components
    draws = narrow.sample(200, np.random.default_rng(4))
    assert len(np.unique(draws.round(1), axis=0)) <= 2 * density.num_components


def test_they_print_on_one_line():
    assert repr(BEHIND) == "<steinbox.Pullback: 2 components in 2 dimensions, curved>"
    assert repr(BOTH) == "<steinbox.Mixture: 6 components in 2 dimensions, curved>"
    assert repr(Pullback(AFFINE, GAUSSIANS)) == "<steinbox.Pullback: 2 components in 2 dimensions>"


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="at least one density, all of the same dimension"):
        Mixture([])
    with pytest.raises(ValueError, match="at least one density, all of the same dimension"):
        Mixture([GAUSSIANS, sb.GaussianMixture([sb.Gaussian(0.0, std=1.0)])])
    with pytest.raises(ValueError, match="2 positive weights"):
        Mixture([GAUSSIANS, BEHIND], weights=[1, 0])
