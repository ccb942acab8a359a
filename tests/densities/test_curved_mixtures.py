"""The default's family: every part can be switched off, and only its own fits are fitted again."""

import numpy as np
import pytest
from scipy.stats import ortho_group

import steinbox as sb
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.family import Fitted
from steinbox.densities.fitting.shapes import Clusters, Curved, Curves, Gaussianized, Rotated, Shells, Sparse, Straight

BANANA = sb.targets.Banana()
TURN = ortho_group.rvs(2, random_state=1)
ROTATION = ortho_group.rvs(8, random_state=1)


def equal(points):
    return WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points))


def chosen(family, points, num_rounds=3):
    """The shape after a few rounds, in which components may be doubled."""
    rng, fitted = np.random.default_rng(0), None
    for _ in range(num_rounds):
        fitted = family.choose(equal(points), rng, fitted)
    return fitted.shape


@pytest.fixture
def turned(rng):
    return BANANA.sample(800, rng) @ TURN.T


@pytest.fixture
def mirrored(rng):
    return rng.choice([-1, 1], size=(1000, 1)) * (BANANA.sample(1000, rng) + np.array([0, 3]))


def test_curves_can_be_switched_off(turned, mirrored):
    assert isinstance(chosen(CurvedMixtures(), turned, 1).map, Rotated)
    assert not isinstance(chosen(CurvedMixtures(rotated=False), turned, 1).map, Rotated)
    assert isinstance(chosen(CurvedMixtures(curved=False), turned, 1).map, Straight)
    assert isinstance(chosen(CurvedMixtures(), mirrored).kind, Curves)
    assert isinstance(chosen(CurvedMixtures(own_maps=False), mirrored).kind, Clusters)
    assert isinstance(chosen(CurvedMixtures(curved=False), mirrored).kind, Clusters)
    banana = BANANA.sample(500, np.random.default_rng(0))
    assert isinstance(chosen(CurvedMixtures(rotated=False), banana, 1).map, Curved)


def test_components_have_a_largest_number(rng):
    modes = sb.GaussianMixture([sb.Gaussian([10.0 * k, 0.0], std=1.0) for k in range(5)])
    points = modes.sample(1000, rng)
    assert chosen(CurvedMixtures(), points, 4).kind.num_components > 3
    assert chosen(CurvedMixtures(max_components=3, own_maps=False), points, 4).kind.num_components <= 3
    assert chosen(CurvedMixtures(max_components=1, own_maps=False), points, 4).kind == Clusters(1, tied=False)
    with pytest.raises(ValueError, match="max_components"):
        CurvedMixtures(max_components=0)


def test_shells_can_be_switched_off(rng):
    points = sb.targets.StudentT(20, dof=4.0).sample(900, rng)
    assert isinstance(chosen(CurvedMixtures(), points, 1).kind, Shells)
    assert isinstance(chosen(CurvedMixtures(shells=False), points, 1).kind, Clusters)


def test_what_another_family_fitted_is_refused(rng):
    other = Fitted(None, sb.GaussianMixture([sb.Gaussian(BANANA.mean, cov=BANANA.cov)]))
    with pytest.raises(TypeError, match="expected a density that CurvedMixtures fitted"):
        CurvedMixtures().choose(equal(BANANA.sample(100, rng)), rng, other)


def test_chains_and_skew_coordinates_are_seen_in_many_dimensions(rng):
    target, num_points = sb.targets.autoregressive(80, 0.9), 800
    points = target.sample(num_points, rng)
    assert isinstance(CurvedMixtures().choose(equal(points), rng).shape.map, Sparse)
    skew = chosen(CurvedMixtures(), np.log1p(np.exp(points)), 1)
    assert isinstance(skew.map, Gaussianized)
    assert isinstance(skew.map.front, Sparse)


@pytest.mark.parametrize(
    ("contrast", "make"),
    [
        (None, lambda rng: np.log(rng.gamma(1.0, size=(2700, 8)))),
        ("skewness", lambda rng: np.log(rng.gamma(1.0, size=(2700, 8))) @ ROTATION),
        ("tails", lambda rng: rng.standard_t(3, size=(2700, 8)) @ ROTATION),
    ],
)
def test_what_is_not_normal_is_gaussianized_along_axes_or_others(contrast, make, rng):
    """Several Gaussians cannot do that in eight dimensions."""
    points = make(rng)
    fitted = CurvedMixtures().choose(equal(points[:1800]), rng)
    assert isinstance(fitted.shape.map, Gaussianized)
    assert fitted.shape.map.contrast == contrast
    others = CurvedMixtures(curved=False)
    other = others.choose(equal(points[:1800]), rng, others.choose(equal(points[:1800]), rng))
    gain = fitted.density.log_prob(points[1800:]).mean() - other.density.log_prob(points[1800:]).mean()
    assert gain > 0.15  # nats; 0.19 to 0.5 for ten seeds


def test_modes_of_their_own_skewness_in_many_dimensions(rng):
    """Each component has a map of its own, behind which it is normal."""
    skew = np.log(rng.gamma(1.0, size=(2700, 24)))
    sides = rng.choice([-1, 1], size=(2700, 1))
    points = sides * (skew + 6)
    fitted = CurvedMixtures().choose(equal(points[:1800]), rng)
    assert isinstance(fitted.shape.kind, Curves)
    assert isinstance(fitted.shape.map, Gaussianized)
    plain = CurvedMixtures(own_maps=False).choose(equal(points[:1800]), rng)
    assert fitted.density.log_prob(points[1800:]).mean() - plain.density.log_prob(points[1800:]).mean() > 1.0
