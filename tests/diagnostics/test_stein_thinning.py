"""Stein thinning against the dense greedy algorithm and the package stein_thinning."""

import numpy as np
import pytest
from stein_thinning.thinning import thin_gf

import steinbox as sb
from steinbox.maps.coordinates import Plain
from steinbox.numerics.kernels import IMQ
from steinbox.numerics.pairwise import SteinKernel

TARGET = sb.targets.Banana()
SURROGATE = sb.Gaussian([0.0, 0.5], std=2.5)


@pytest.mark.filterwarnings("ignore:log_q differs", "ignore:log ρ")
@pytest.mark.parametrize("seed", range(5))
def test_it_picks_the_points_of_stein_thinning(seed):
    x = 1.3 * TARGET.sample(300, np.random.default_rng(seed))
    values = TARGET.log_prob(x)
    theirs = thin_gf(x, values, SURROGATE.log_prob(x), SURROGATE.score(x), 40, standardize=False)
    settings = {"kernel": IMQ(), "bandwidth": 1.0, "coordinates": Plain()}
    ours = sb.stein_thin(x, values, 40, entropy=0, surrogate=SURROGATE, **settings)
    np.testing.assert_array_equal(ours, theirs)


def test_every_point_is_the_best_next_one(rng):
    x = TARGET.sample(80, rng)
    chosen = sb.stein_thin(x, None, 15, entropy=0, score=TARGET.score, bandwidth=2.0, coordinates=Plain())
    matrix = SteinKernel(x, TARGET.score(x), np.ones(80), sb.kernels.RBF(), 2.0).matrix()
    for number in range(15):
        total = [matrix[np.ix_(picks, picks)].sum() for picks in ([*chosen[:number], i] for i in range(80))]
        assert total[chosen[number]] == pytest.approx(min(total))


def test_every_point_is_the_best_next_one_with_the_regularization_of_benard(rng):
    """The greedy step counted out: Δ once for every point, λ log p with the number of points."""
    x = TARGET.sample(60, rng)
    bulge = rng.exponential(size=60)
    log_prob, entropy = TARGET.log_prob(x), 0.07
    settings = {"score": TARGET.score, "laplacian": bulge, "bandwidth": 2.0, "coordinates": Plain()}
    chosen = sb.stein_thin(x, log_prob, 12, entropy=entropy, **settings)
    matrix = SteinKernel(x, TARGET.score(x), np.ones(60), sb.kernels.RBF(), 2.0).matrix()
    for number in range(12):
        total = np.array([matrix[np.ix_(picks, picks)].sum() for picks in ([*chosen[:number], i] for i in range(60))])
        total += bulge - (number + 1) * entropy * log_prob
        assert total[chosen[number]] == pytest.approx(total.min())
    by_default = sb.stein_thin(x, log_prob, 12, **settings)
    np.testing.assert_array_equal(by_default, sb.stein_thin(x, log_prob, 12, entropy=1 / 12, **settings))
    assert not np.array_equal(by_default, sb.stein_thin(x, log_prob, 12, entropy=0, **settings))


def test_regularization_without_values_is_refused_in_words(rng):
    x = TARGET.sample(20, rng)
    with pytest.raises(ValueError, match="expected log_prob for the entropic regularization, got None"):
        sb.stein_thin(x, None, 5, score=TARGET.score)
    with pytest.raises(ValueError, match="expected laplacian to be finite, got nan at row 3"):
        sb.stein_thin(x, TARGET.log_prob, 5, laplacian=np.where(np.arange(20) == 3, np.nan, 0.0))


def test_thinning_repairs_a_biased_sample(rng):
    """Twenty points out of a sample that is too wide and has burn-in are better than twenty of it at random."""
    target = sb.Gaussian([0.0, 0.0], std=1.0)
    x = np.concatenate([rng.normal(6, 0.3, size=(50, 2)), 1.5 * target.sample(450, rng)])
    chosen = x[sb.stein_thin(x, target.log_prob, 20)]
    reference = target.sample(4000, rng)
    at_random = [sb.mmd(x[rng.choice(500, 20)], reference) for _ in range(20)]
    assert sb.mmd(chosen, reference) < 0.3 * np.median(at_random)


def test_points_outside_the_support_are_never_chosen(rng):
    x = TARGET.sample(60, rng)
    values = np.where(np.arange(60) < 30, TARGET.log_prob(x), -np.inf)
    with pytest.warns(UserWarning, match="30 of 60 points lie outside"):
        chosen = sb.stein_thin(x, values, 20)
    assert chosen.max() < 30
    with pytest.raises(ValueError, match="at most the 30 inside the support, got 40"):
        sb.stein_thin(x, values, 40)


@pytest.mark.parametrize("num_points", [0, 61, 2.5, "ten", True])
def test_an_impossible_number_of_points_is_refused_in_words(num_points, rng):
    with pytest.raises(ValueError, match="expected num_points .*(whole number|at most the 60 inside the support)"):
        sb.stein_thin(TARGET.sample(60, rng), TARGET.log_prob, num_points)
