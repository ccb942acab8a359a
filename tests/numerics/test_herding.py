"""Points chosen from a weighted pool."""

import warnings

import numpy as np
import pytest

import steinbox as sb


def mmd_of(pool, weights):
    """The MMD of a choice by a double sum, in whitened coordinates with the pool's own median."""
    z = (pool - weights @ pool) @ np.linalg.inv(np.linalg.cholesky(np.cov(pool.T, aweights=weights))).T
    squares = ((z[:, None] - z[None]) ** 2).sum(axis=2)
    kernel = np.exp(-squares / np.median(squares[np.triu_indices(len(z), 1)]))

    def mmd(chosen):
        difference = np.bincount(chosen, minlength=len(z)) / len(chosen) - weights
        return float(np.sqrt(difference @ kernel @ difference))

    return mmd


@pytest.fixture
def pool():
    return np.random.default_rng(0).normal(size=(300, 2)) * [1.0, 100.0]


def test_no_exchange_improves_what_was_chosen(pool):
    weights = np.exp(-0.5 * pool[:, 0] ** 2)
    weights /= weights.sum()
    chosen, mmd = sb.select(pool, weights, 10), mmd_of(pool, weights)
    best = mmd(chosen)
    exchanged = [
        mmd(np.concatenate([np.delete(chosen, place), [other]])) for place in range(10) for other in range(0, 300, 3)
    ]
    assert best < min(exchanged) + 1e-3
    draws = np.random.default_rng(1).choice(300, size=(50, 10), p=weights)
    assert best < 0.5 * min(mmd(each) for each in draws)


@pytest.mark.parametrize(
    "target", [sb.targets.Banana(), sb.paper.targets.paper_gmm(dimension=10)], ids=["banana", "mixture"]
)
def test_chosen_points_are_closer_to_the_target_than_draws_of_it(target):
    rng = np.random.default_rng(0)
    pool, reference = target.sample(3000, rng), target.sample(5000, rng)
    log_prob = target.log_prob(pool)
    chosen = sb.select(pool, np.ones(3000), 100, log_prob=log_prob)
    assert sb.mmd(pool[chosen], reference) < 0.6 * sb.mmd(pool[:100], reference)
    assert log_prob[chosen].std() == pytest.approx(log_prob.std(), rel=0.1)


def test_without_log_densities_the_points_are_too_central():
    target = sb.paper.targets.paper_gmm(dimension=20)
    pool = target.sample(3000, np.random.default_rng(0))
    log_prob = target.log_prob(pool)
    with_levels, without = (
        log_prob[sb.select(pool, np.ones(3000), 100, log_prob=levels)].std() / log_prob.std()
        for levels in (log_prob, None)
    )
    assert without < 0.93 < with_levels


def test_weights_count(pool):
    weights = np.where(pool[:, 0] > 0, 1.0, 0.0)
    assert (pool[sb.select(pool, weights, 20), 0] > 0).all()
    heavy = np.zeros(300)
    heavy[[3, 5]] = [0.75, 0.25]
    assert sorted(sb.select(pool, heavy, 4)) == [3, 3, 3, 5]


def test_all_weight_on_one_point(rng):
    """But for a little weight that no resampling comes upon."""
    points, weights = rng.standard_normal((500, 2)), np.full(500, 1.6e-5)
    points[:8], weights[:8] = 1.0, 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(sb.select(points, weights, 10, log_prob=-0.5 * (points**2).sum(axis=1))) <= set(range(8))


def test_a_large_pool_and_its_seed():
    pool = np.random.default_rng(0).normal(size=(9000, 2))
    first, again, other = (sb.select(pool, np.ones(9000), 30, rng=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.abs(pool[first].mean(axis=0)).max() < 0.1


@pytest.mark.parametrize(
    ("points", "weights", "number", "message"),
    [
        (np.zeros((3, 2)), np.ones(2), 1, r"points \(m, d\) and weights \(m,\), got shapes \(3, 2\) and \(2,\)"),
        (np.full((3, 2), np.nan), np.ones(3), 1, "finite points"),
        (np.zeros((3, 2)), -np.ones(3), 1, "none of them negative"),
        (np.zeros((3, 2)), np.zeros(3), 1, "some of them positive"),
        (np.zeros((3, 2)), np.ones(3), 0, "num_points"),
    ],
)
def test_nonsense_is_refused_in_words(points, weights, number, message):
    with pytest.raises(ValueError, match=message):
        sb.select(points, weights, number)
