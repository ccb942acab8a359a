"""Points chosen from a weighted pool, and weights with a tamed tail."""

import warnings

import numpy as np
import pytest
from scipy.stats import genpareto

import steinbox as sb
from steinbox.pareto import pareto_smoothed


def weighted_mmd(pool, weights, chosen):
    """By a double sum, in whitened coordinates with the pool's own median."""
    z = (pool - weights @ pool) @ np.linalg.inv(np.linalg.cholesky(np.cov(pool.T, aweights=weights))).T
    squares = ((z[:, None] - z[None]) ** 2).sum(axis=2)
    kernel = np.exp(-squares / np.median(squares[np.triu_indices(len(z), 1)]))
    difference = np.bincount(chosen, minlength=len(z)) / len(chosen) - weights
    return float(np.sqrt(difference @ kernel @ difference))


@pytest.fixture
def pool():
    return np.random.default_rng(0).normal(size=(300, 2)) * [1.0, 100.0]


def test_no_exchange_improves_what_was_chosen(pool):
    weights = np.exp(-0.5 * pool[:, 0] ** 2)
    weights /= weights.sum()
    chosen = sb.select(pool, weights, 10)
    best = weighted_mmd(pool, weights, chosen)
    exchanged = [
        weighted_mmd(pool, weights, np.concatenate([np.delete(chosen, place), [other]]))
        for place in range(10)
        for other in range(0, 300, 3)
    ]
    assert best < min(exchanged) + 1e-3
    draws = np.random.default_rng(1).choice(300, size=(50, 10), p=weights)
    assert best < 0.5 * min(weighted_mmd(pool, weights, each) for each in draws)


@pytest.mark.parametrize("target", [sb.targets.Banana(), sb.targets.paper_gmm(dimension=10)], ids=["banana", "mixture"])
def test_chosen_points_are_closer_to_the_target_than_draws_of_it(target):
    rng = np.random.default_rng(0)
    pool, reference = target.sample(3000, rng), target.sample(5000, rng)
    log_prob = target.log_prob(pool)
    chosen = sb.select(pool, np.ones(3000), 100, log_prob=log_prob)
    assert sb.mmd(pool[chosen], reference) < 0.6 * sb.mmd(pool[:100], reference)
    assert log_prob[chosen].std() == pytest.approx(log_prob.std(), rel=0.1)


def test_without_log_densities_the_points_are_too_central():
    target = sb.targets.paper_gmm(dimension=20)
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


# -- Pareto ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.9])
def test_the_shape_of_a_pareto_tail(shape):
    """Drawn a little towards 1/2, and with the noise of some 300 values."""
    shapes = [pareto_smoothed(np.log(genpareto(shape).rvs(10_000, random_state=seed)))[1] for seed in range(20)]
    assert np.mean(shapes) == pytest.approx(shape, abs=0.05)


def test_smoothing_lowers_the_error_of_an_estimate():
    """Importance sampling of N(0, 1) from a narrower proposal: weights without a variance; the mean of x²."""
    errors = {"plain": [], "smoothed": []}
    for seed in range(100):
        x = 0.6 * np.random.default_rng(seed).standard_normal(1000)
        log_weights = -0.5 * x**2 + 0.5 * (x / 0.6) ** 2
        for name, values in (("plain", log_weights), ("smoothed", pareto_smoothed(log_weights)[0])):
            weights = np.exp(values - values.max())
            errors[name].append(weights @ x**2 / weights.sum() - 1)
    assert np.std(errors["smoothed"]) < 0.9 * np.std(errors["plain"])


def test_order_and_bulk_are_kept():
    log_weights = np.random.default_rng(0).normal(size=1000)
    smoothed, _ = pareto_smoothed(log_weights)
    np.testing.assert_array_equal(np.argsort(smoothed, kind="stable"), np.argsort(log_weights, kind="stable"))
    changed = smoothed != log_weights
    assert 50 < changed.sum() < 100
    assert smoothed.max() <= log_weights.max()


@pytest.mark.parametrize(
    "log_weights",
    [
        np.zeros(100),
        np.zeros(5),
        np.append(np.full(99, -np.inf), 0.0),
        np.concatenate(
            [np.linspace(-3000, -2000, 300), np.linspace(-743, -712, 80), [0.0]]
        ),  # its reciprocals overflow
    ],
)
def test_weights_without_a_tail_stay_as_they_are(log_weights):
    smoothed, shape = pareto_smoothed(log_weights)
    np.testing.assert_array_equal(smoothed, log_weights)
    assert np.isnan(shape)


@pytest.mark.parametrize("seed", range(3))
def test_against_arviz(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own, once a day
        arviz = pytest.importorskip("arviz")
    log_weights = np.random.default_rng(seed).standard_t(4, size=1000)
    ours, shape = pareto_smoothed(log_weights)
    theirs, their_shape = arviz.psislw(log_weights)
    assert shape == pytest.approx(float(their_shape), rel=1e-10)
    np.testing.assert_allclose(ours - ours.max(), theirs - theirs.max(), atol=1e-10)
