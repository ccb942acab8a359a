"""Few evaluations: the surrogate of log p, the points that it chooses, and the answer that it gives."""

import numpy as np
import pytest
from scipy import stats

import steinbox as sb
from steinbox.samplers.adaptive.local_surrogate import fit_surrogate, reach

BANANA = sb.targets.Banana()
START = sb.Gaussian([0.0, 0.0], std=3.0)
CORRELATED = sb.Gaussian([2.0, -1.0, 0.0], cov=[[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 0.01]])
WIDE = sb.Gaussian(np.zeros(3), std=4.0)
SEARCH = sb.AdaptiveImportanceSampling(proposers=(sb.adaptive.SurrogateSearch(), *sb.adaptive.DEFAULT_PROPOSERS))


def run(target=CORRELATED, start=WIDE, **settings):
    defaults = {
        "method": SEARCH,
        "num_particles": 100,
        "max_evals": 80,
        "vectorized": True,
        "progress": False,
        "seed": 0,
    }
    return sb.sample(target.log_prob, start, **defaults | settings)


# -- the surrogate -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def banana_surrogate():
    points = np.random.default_rng(0).normal(size=(150, 2)) * [1.5, 1.5]
    return points, fit_surrogate(points, BANANA.log_prob(points))


def test_mean_and_covariance_are_those_of_dense_conditioning(banana_surrogate):
    """The joint normal distribution of training values and predictions, by the features' products."""
    points, mine = banana_surrogate
    new = points[:5] + 0.1
    old_z, new_z = mine.z, mine.coordinates.forward(new)
    features, new_features = mine._features(old_z), mine._features(new_z)
    below = mine.log_prob.max() - mine.log_prob
    total = features @ features.T + np.diag((0.01 * mine.unit) ** 2 + (mine.slack * below) ** 2)
    quadratic = [np.einsum("ij,jk,ik->i", z, mine.curvature, z) for z in (old_z, new_z)]
    cross = new_features @ features.T
    expected = mine.log_prob.max() + quadratic[1] + cross @ np.linalg.solve(total, -below - quadratic[0])
    mean, std = mine.predict(new)
    np.testing.assert_allclose(mean, expected, atol=1e-2)
    np.testing.assert_allclose(np.diag(mine.covariance(new)), std**2, rtol=1e-8)


def test_it_predicts_values_that_it_never_had(banana_surrogate):
    _, mine = banana_surrogate
    new = BANANA.sample(200, np.random.default_rng(1))
    new = new[np.linalg.norm(mine.coordinates.forward(new), axis=1) < 2]
    mean, std = mine.predict(new)
    errors = mean - BANANA.log_prob(new)
    assert np.median(np.abs(errors)) < 0.1
    assert np.mean(np.abs(errors) < 3 * std + 0.05) > 0.9


def test_its_quadratic_is_concave_however_heavy_the_tails():
    points = 20 * np.random.default_rng(0).standard_normal((60, 2))
    surrogate = fit_surrogate(points, stats.cauchy.logpdf(points).sum(axis=1))
    assert np.linalg.eigvalsh(surrogate.curvature).max() < 0


def test_nothing_is_drawn_beyond_its_reach_or_beyond_a_wall(rng):
    points = 2 * rng.standard_normal((80, 2))
    log_prob = np.where(points[:, 0] > 0, -0.5 * (points**2).sum(axis=1), -np.inf)
    surrogate = fit_surrogate(points, log_prob)
    draws, _ = surrogate.draw(400, rng)
    assert np.linalg.norm(surrogate.coordinates.forward(draws), axis=1).max() < reach(2)
    assert (draws[:, 0] < 0).mean() < 0.1
    assert np.isneginf(surrogate.log_density(points[points[:, 0] <= 0])).all()


def test_points_that_are_all_but_the_same_do_no_harm(rng):
    points = np.repeat(rng.standard_normal((30, 2)), 3, axis=0) + 1e-9 * rng.standard_normal((90, 2))
    mean, _ = fit_surrogate(points, -0.5 * (points**2).sum(axis=1)).predict(np.zeros((1, 2)))
    assert abs(mean[0]) < 0.2


# -- runs --------------------------------------------------------------------------------------------------------------


def test_eighty_evaluations_are_enough_for_a_gaussian():
    result = run()
    assert "surrogate search" in result.trace["proposers"]
    assert abs(result.log_evidence) < 0.3
    mean, cov = result.pool_weights @ result.pool, np.cov(result.pool.T, aweights=result.pool_weights)
    scale = np.sqrt(np.diag(CORRELATED.cov))
    np.testing.assert_allclose(mean / scale, CORRELATED.mean / scale, atol=0.25)
    np.testing.assert_allclose(cov / np.outer(scale, scale), CORRELATED.cov / np.outer(scale, scale), atol=0.35)


def test_a_long_diagonal_target_is_as_narrow_as_it_is():
    axis = np.array([0.9, 0.44]) / np.linalg.norm([0.9, 0.44])
    cigar = sb.Gaussian([0.0, 0.0], cov=np.eye(2) + 9999 * np.outer(axis, axis))
    result = run(cigar, sb.Gaussian([0.0, 0.0], std=200.0), max_evals=150)
    across = result.pool @ [-axis[1], axis[0]]
    assert 0.5 < result.pool_weights @ across**2 < 2.0
    assert abs(result.log_evidence) < 0.3


def test_every_particle_was_evaluated_and_the_pool_has_all_points():
    seen = []

    def log_prob(x):
        seen.append(x.copy())
        return BANANA.log_prob(x)

    settings = {"method": SEARCH, "num_particles": 100, "max_evals": 60, "vectorized": True, "progress": False}
    result = sb.sample(log_prob, START, seed=1, **settings)
    evaluated = np.concatenate(seen)
    assert len(result.pool) == 60
    assert {bytes(row) for row in result.particles} <= {bytes(row) for row in evaluated}
    np.testing.assert_allclose(result.pool_log_prob, BANANA.log_prob(result.pool))


def test_a_surrogate_that_predicts_badly_is_not_trusted():
    rough = sb.sample(
        lambda x: 10 * np.sin(7 * x).sum(axis=1) - 0.5 * (x**2).sum(axis=1),
        sb.Gaussian(np.zeros(4), std=2.0),
        method=SEARCH,
        num_particles=50,
        max_evals=60,
        vectorized=True,
        progress=False,
        seed=0,
    )
    assert any("predictions were wrong" in each for each in rough.warnings)
    assert not any("predictions were wrong" in each for each in run().warnings)


def test_it_resumes_bit_for_bit(tmp_path):
    def interrupt(iteration):
        if iteration.index == 4:
            raise KeyboardInterrupt

    whole = run(BANANA, START)
    run(BANANA, START, checkpoint=tmp_path / "run.ckpt", callback=interrupt)
    resumed = run(BANANA, START, checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    np.testing.assert_array_equal(resumed.pool_weights, whole.pool_weights)


@pytest.mark.parametrize("settings", [{"max_evals": 201}, {"noise": 0.5}])
def test_larger_budgets_and_noise_are_left_to_the_others(settings):
    assert not any("surrogate search" in each for each in run(**settings).trace["proposers"])
