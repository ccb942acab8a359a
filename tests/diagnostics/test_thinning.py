"""Thinning: it repairs what is wrong and leaves good what is good."""

import numpy as np
import pytest

import steinbox as sb

BANANA = sb.targets.Banana()
APART = sb.GaussianMixture([sb.Gaussian([-4.0, 0.0], std=1.0), sb.Gaussian([4.0, 0.0], std=1.0)], [0.3, 0.7])


@pytest.mark.parametrize(
    ("target", "has_score"),
    [
        (BANANA, False),
        (APART, True),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(BANANA, True), (APART, False)]),
    ],
)
def test_good_points_stay_good(target, has_score):
    """Fifty of 1,000 exact draws: Stein thinning makes them three times worse than a random subset."""
    rng = np.random.default_rng(7)
    x, reference = target.sample(1000, rng), target.sample(5000, rng)
    score = target.score if has_score else None
    at_random = np.median([sb.mmd(x[rng.choice(1000, 50)], reference) for _ in range(20)])
    assert sb.mmd(x[sb.thin(x, target.log_prob, 50, score=score)], reference) < 0.7 * at_random
    assert sb.mmd(x[sb.stein_thin(x, target.log_prob, 50, score=score)], reference) > 1.5 * at_random


def test_points_whose_log_density_cannot_be_learned_are_thinned_as_they_are():
    """On a funnel the weights that values suggest make a good sample six times worse than a random subset."""
    funnel, rng = sb.targets.Funnel(3), np.random.default_rng(0)
    x, reference = funnel.sample(400, rng), funnel.sample(3000, rng)
    weights = sb.black_box_weights(x, funnel.log_prob, regularization=0.1).weights
    assert sb.mmd(x, reference, weights=weights) > 0.4
    with pytest.warns(UserWarning, match="too rough to be learned from its values") as warned:
        chosen = sb.thin(x, funnel.log_prob, 25)
    assert warned[0].filename == __file__
    np.testing.assert_array_equal(chosen, sb.select(x, np.ones(400), 25, log_prob=funnel.log_prob(x)))
    assert sb.mmd(x[chosen], reference) < 0.1


@pytest.mark.parametrize("has_score", [False, True])
def test_points_that_cover_too_little_of_the_target_are_thinned_as_they_are(has_score, rng):
    """A ring that is too wide meets the target in one arc: weights gather there, twice as bad as a random subset."""
    ring = sb.targets.Ring()
    x, reference = 0.4 + 1.3 * ring.sample(400, rng), ring.sample(3000, rng)
    score = ring.score if has_score else None
    at_random = np.mean([sb.mmd(x[rng.choice(400, 25)], reference) for _ in range(20)])
    weights = sb.black_box_weights(x, ring.log_prob, score=score, regularization=0.1).weights
    assert sb.mmd(x, reference, weights=weights) > 1.5 * at_random
    with pytest.warns(UserWarning, match=r"effective sample size of .* of 400 points: these cover too little"):
        chosen = sb.thin(x, ring.log_prob, 25, score=score)
    assert sb.mmd(x[chosen], reference) < at_random


def test_a_biased_sample_is_repaired(rng):
    """Twenty points out of a sample that is too wide and has burn-in are better than twenty of it at random."""
    target = sb.Gaussian([0.0, 0.0], std=1.0)
    x = np.concatenate([rng.normal(6, 0.3, size=(50, 2)), 1.5 * target.sample(450, rng)])
    chosen = x[sb.thin(x, target.log_prob, 20)]
    reference = target.sample(4000, rng)
    at_random = [sb.mmd(x[rng.choice(500, 20)], reference) for _ in range(20)]
    assert sb.mmd(chosen, reference) < 0.3 * np.median(at_random)
    assert np.abs(chosen.std(axis=0) - 1).max() < 0.15


def test_many_points_are_weighted_in_groups(rng):
    target = sb.Gaussian([0.0, 0.0], std=1.0)
    x = 1.5 * target.sample(2500, rng)
    chosen = x[sb.thin(x, None, 50, score=target.score)]
    assert np.abs(chosen.std(axis=0) - 1).max() < 0.1
    assert sb.mmd(chosen, target.sample(4000, rng)) < 0.04


def test_a_chain_that_stood_still_is_thinned(rng):
    """Most of its pairs are copies: their median distance is zero, that of different points is not."""
    target = sb.Gaussian([0.0, 0.0], std=1.0)
    x = np.concatenate([np.repeat([[3.0, 0.0]], 200, axis=0), target.sample(50, rng)])
    chosen = x[sb.thin(x, None, 10, score=target.score)]
    assert (chosen[:, 0] == 3.0).sum() <= 1
    assert len(sb.stein_thin(x, target.log_prob, 10)) == len(sb.thin(x[150:], target.log_prob, 10)) == 10


def test_it_is_weights_and_then_herding(rng):
    x = 1.1 * BANANA.sample(300, rng)
    weights = sb.black_box_weights(x, BANANA.log_prob, regularization=0.1).weights
    expected = sb.select(x, weights, 30, log_prob=BANANA.log_prob(x))
    np.testing.assert_array_equal(sb.thin(x, BANANA.log_prob, 30), expected)


def test_points_outside_the_support_are_never_chosen(rng):
    x = BANANA.sample(60, rng)
    values = np.where(np.arange(60) < 30, BANANA.log_prob(x), -np.inf)
    with pytest.warns(UserWarning, match="30 of 60 points lie outside") as warned:
        chosen = sb.thin(x, values, 20)
    assert warned[0].filename == __file__
    assert chosen.max() < 30
    with pytest.raises(ValueError, match="at most the 30 inside the support, got 40"):
        sb.thin(x, values, 40)


@pytest.mark.parametrize("num_points", [0, 61, 2.5, "ten", True])
def test_an_impossible_number_of_points_is_refused_in_words(num_points, rng):
    with pytest.raises(ValueError, match="expected num_points .*(whole number|at most the 60 inside the support)"):
        sb.thin(BANANA.sample(60, rng), BANANA.log_prob, num_points)
