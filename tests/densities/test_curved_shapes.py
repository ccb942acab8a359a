"""Curved shapes beyond one triangular map: curves of their own, and axes of their own."""

import numpy as np
import pytest
from scipy.stats import ortho_group

import steinbox as sb
from steinbox.common.serialization import pack, unpack
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.curves import fit_curves
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.rotated_map import fit_rotated_map
from steinbox.densities.fitting.shapes import Curved, Curves, Rotated, Straight
from steinbox.numerics.weights import effective_sample_size, normalize

BANANA = sb.targets.Banana()
FAMILY = CurvedMixtures()
TURN = ortho_group.rvs(4, random_state=0)


def equal(points):
    return WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points))


class Mirrored:
    """A banana that opens upwards with a share of the mass, and its mirror image below."""

    def __init__(self, share=0.5):
        self.share = share

    def log_prob(self, x):
        above, below = BANANA.log_prob(x - [0, 3]), BANANA.log_prob(-x - [0, 3])
        return np.logaddexp(np.log(self.share) + above, np.log(1 - self.share) + below)

    def sample(self, num_points, rng):
        side = np.where(rng.random((num_points, 1)) < self.share, 1.0, -1.0)
        return side * (BANANA.sample(num_points, rng) + np.array([0, 3]))


class TurnedBananas:
    """Two bananas, none of whose axes are coordinates."""

    def log_prob(self, x):
        y = x @ TURN
        return BANANA.log_prob(y[:, :2]) + BANANA.log_prob(y[:, 2:])

    def sample(self, num_points, rng):
        return np.column_stack([BANANA.sample(num_points, rng), BANANA.sample(num_points, rng)]) @ TURN.T


def lost(density, target, rng):
    """Nats by which it predicts draws of the target worse than the target itself."""
    draws = target.sample(4000, rng)
    return float((target.log_prob(draws) - density.log_prob(draws)).mean())


def slopes(density, points, step=1e-5):
    return np.array(
        [
            (density.log_prob(points + step * axis) - density.log_prob(points - step * axis)) / (2 * step)
            for axis in np.eye(points.shape[1])
        ]
    ).T


# -- curves of their own -----------------------------------------------------------------------------------------------


def test_two_curves_are_told_apart(rng):
    """With one map for both, 0.3 nats and more are lost."""
    target = Mirrored()
    density = fit_curves(equal(target.sample(1000, rng)), 2, rng, fit_map=Curved(0.5).fit)
    assert density.num_components == len(density.densities) == 2
    assert lost(density, target, rng) < 0.1
    np.testing.assert_allclose(density.weights, 0.5, atol=0.05)


def test_weights_count(rng):
    """Draws of half and half, weighed to a fifth above."""
    points = Mirrored().sample(2000, rng)
    weights = normalize(Mirrored(0.2).log_prob(points) - Mirrored().log_prob(points))
    sample = WeightedPoints(points, weights, effective_sample_size(weights))
    assert lost(fit_curves(sample, 2, rng, fit_map=Curved(0.5).fit), Mirrored(0.2), rng) < 0.1


def test_a_density_with_maps_of_its_own_is_normalised_and_has_its_score(rng):
    density = fit_curves(equal(Mirrored(0.3).sample(600, rng)), 2, rng, fit_map=Curved(0.5).fit)
    grid, high = np.linspace(-12, 12, 481), np.linspace(-60, 60, 2401)
    values = np.exp(density.log_prob(np.array(np.meshgrid(grid, high)).reshape(2, -1).T))
    assert values.sum() * (grid[1] - grid[0]) * (high[1] - high[0]) == pytest.approx(1, abs=2e-3)
    points = density.sample(50, rng)
    np.testing.assert_allclose(density.score(points), slopes(density, points), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(density.responsibilities(points).sum(axis=1), 1)


def test_draws_of_two_curves_have_the_density(rng):
    target = Mirrored(0.3)
    density = fit_curves(equal(target.sample(1000, rng)), 2, rng, fit_map=Curved(0.5).fit)
    for draws in (density.sample(4000, rng), density.quasi_random(4000, rng)):
        ratios = np.exp(target.log_prob(draws) - density.log_prob(draws))
        assert ratios.mean() == pytest.approx(1, abs=0.03)
        assert ratios.std() < 0.4


def test_plain_gaussians_are_no_curves(rng):
    modes = sb.GaussianMixture([sb.Gaussian([-4, 0], std=1.0), sb.Gaussian([4, 0], std=1.0)])
    assert not fit_curves(equal(modes.sample(1000, rng)), 2, rng, fit_map=Curved(0.5).fit).is_curved


def test_curves_with_hardly_any_points_are_left_out(rng):
    points = Mirrored().sample(300, rng)
    few = np.zeros((300, 2))
    few[:, 0] = 1.0
    few[:5] = [0.0, 1.0]
    assert fit_curves(equal(points), 2, rng, fit_map=Curved(0.5).fit, start=few).num_components == 1


def test_curves_are_chosen_and_kept(rng):
    target, fitted = Mirrored(), None
    for _ in range(4):
        fitted = FAMILY.choose(equal(target.sample(1000, rng)), rng, fitted)
    assert isinstance(fitted.shape.kind, Curves)
    assert lost(fitted.density, target, rng) < 0.1
    assert lost(FAMILY.choose(equal(target.sample(500, rng)), rng, fitted).density, target, rng) < 0.2


# -- axes of their own -------------------------------------------------------------------------------------------------


def test_turned_axes_are_found(rng):
    target, lossy = TurnedBananas(), []
    for size in (300, 1000):
        sample = equal(target.sample(size, rng))
        warp = fit_rotated_map(sample)
        u, log_det = warp.forward_and_log_det(sample.points)
        np.testing.assert_allclose(warp.inverse(u), sample.points, atol=1e-9)
        draws = target.sample(4000, rng)
        white, log_det = warp.forward_and_log_det(draws)
        predicted = sb.Gaussian(np.zeros(4), std=1.0).log_prob(white) + log_det
        lossy.append(float((target.log_prob(draws) - predicted).mean()))
    assert lossy[0] < 0.5
    assert lossy[1] < 0.1


def test_the_volume_is_that_of_the_map(rng):
    warp = fit_rotated_map(equal(TurnedBananas().sample(500, rng)))
    point, step = TurnedBananas().sample(1, rng), 1e-6
    rows = [(warp.forward(point + step * axis) - warp.forward(point - step * axis))[0] for axis in np.eye(4)]
    jacobian = np.array(rows) / (2 * step)
    assert warp.log_det(point)[0] == pytest.approx(np.linalg.slogdet(jacobian)[1], abs=1e-5)


def test_points_on_a_line_have_no_axes(rng):
    first = rng.standard_normal(500)
    assert fit_rotated_map(equal(np.column_stack([first, first]))) is None


def test_weights_count_for_the_axes(rng):
    """Draws of a blurred target, weighed to the target."""
    target, noise = TurnedBananas(), sb.Gaussian(np.zeros(4), std=3.0)
    points = np.concatenate([target.sample(1500, rng), noise.sample(1500, rng)])
    blurred = np.logaddexp(target.log_prob(points), noise.log_prob(points))
    weights = normalize(target.log_prob(points) - blurred)
    warp = fit_rotated_map(WeightedPoints(points, weights, effective_sample_size(weights)))
    draws = target.sample(4000, rng)
    white, log_det = warp.forward_and_log_det(draws)
    predicted = sb.Gaussian(np.zeros(4), std=1.0).log_prob(white) + log_det
    assert float((target.log_prob(draws) - predicted).mean()) < 0.1


def test_no_axes_where_nothing_is_curved_or_little_is_known(rng):
    assert fit_rotated_map(equal(rng.standard_normal((500, 4)))) is None
    assert fit_rotated_map(equal(TurnedBananas().sample(15, rng))) is None
    assert fit_rotated_map(equal(rng.standard_normal((500, 1)))) is None


def test_axes_are_chosen_where_they_predict(rng):
    target = TurnedBananas()
    fitted = FAMILY.choose(equal(target.sample(1000, rng)), rng)
    assert isinstance(fitted.shape.map, Rotated)
    assert lost(fitted.density, target, rng) < 0.1
    points = target.sample(50, rng)
    np.testing.assert_allclose(fitted.density.score(points), slopes(fitted.density, points), rtol=1e-3, atol=1e-3)
    assert isinstance(FAMILY.choose(equal(rng.standard_normal((500, 4))), rng).shape.map, Straight)
    few = FAMILY.choose(equal(target.sample(18, rng)), rng, fitted)
    assert np.isfinite(few.density.log_prob(points)).all(), "too few points for axes: along the coordinates"


# -- in the sampler ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "dimension"),
    [pytest.param(Mirrored(), 2, marks=pytest.mark.slow), (TurnedBananas(), 4)],
    ids=["mirrored", "turned"],
)
def test_the_default_follows_them(target, dimension):
    """200 exact draws have an MMD of about .05. Without their shapes the mixture loses 0.2 nats and more."""
    exact = target.sample(4000, np.random.default_rng(1))
    start = sb.Gaussian(np.zeros(dimension), std=5.0)
    result = sb.sample(target.log_prob, start, vectorized=True, num_particles=200, max_evals=5_000, seed=1)
    assert sb.mmd(result.particles, exact) < 0.03
    assert lost(result.mixture, target, np.random.default_rng(2)) < 0.1
    assert result.log_evidence == pytest.approx(0, abs=0.1)
    assert not result.warnings


@pytest.mark.slow
def test_a_spike_within_a_mode_is_found():
    """Half of the mass within a ball that one draw of 10,000 hits."""
    spike, slab = sb.Gaussian(np.zeros(6), std=0.05), sb.Gaussian(np.zeros(6), std=2.0)
    target = sb.GaussianMixture([spike, slab])
    result = sb.sample(
        target.log_prob, sb.Gaussian(np.zeros(6), std=3.0), vectorized=True, num_particles=200, max_evals=4_000, seed=0
    )
    assert (np.linalg.norm(result.particles, axis=1) < 0.5).mean() == pytest.approx(0.5, abs=0.05)
    assert result.log_evidence == pytest.approx(0, abs=0.1)


def test_they_can_be_kept_on_disk(rng):
    for fitted in (FAMILY.choose(equal(TurnedBananas().sample(600, rng)), rng),):
        arrays = {}
        again = unpack(pack(fitted, arrays), arrays)
        points = TurnedBananas().sample(20, rng)
        np.testing.assert_array_equal(again.density.log_prob(points), fitted.density.log_prob(points))
    density = fit_curves(equal(Mirrored().sample(600, rng)), 2, rng, fit_map=Curved(0.5).fit)
    arrays = {}
    again = unpack(pack(density, arrays), arrays)
    points = Mirrored().sample(20, rng)
    np.testing.assert_array_equal(again.log_prob(points), density.log_prob(points))
