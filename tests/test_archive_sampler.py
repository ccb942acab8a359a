"""The archive sampler, part by part and as a whole."""

import dataclasses

import numpy as np
import pytest
from scipy.special import logsumexp

import steinbox as sb
from steinbox.evaluate import Evaluation
from steinbox.mixture_fit import WeightedPoints, choose_mixture, fit_mixture
from steinbox.quadratic import quadratic_proposal
from steinbox.quasi import quasi_random

COV = np.array([[2.0, 1.2], [1.2, 1.0]])
MIXTURE = sb.GaussianMixture([sb.Gaussian([-4.0, 0.0], cov=COV), sb.Gaussian([4.0, 1.0], std=0.5)], [0.7, 0.3])


def equal(points):
    return WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points))


# -- mixtures ----------------------------------------------------------------------------------------------------------


def test_one_component_has_the_weighted_moments(rng):
    points, weights = rng.normal(size=(5000, 3)), rng.random(5000)
    weights /= weights.sum()
    fitted = fit_mixture(WeightedPoints(points, weights, 1e9), 1, rng)
    np.testing.assert_allclose(fitted.mean, weights @ points, atol=1e-6)
    np.testing.assert_allclose(fitted.cov, np.cov(points.T, aweights=weights, bias=True), rtol=1e-6, atol=1e-8)


def test_two_components_are_found(rng):
    fitted = fit_mixture(equal(MIXTURE.sample(20_000, rng)), 2, rng)
    order = np.argsort([component.mean[0] for component in fitted.components])
    np.testing.assert_allclose(fitted.weights[order], MIXTURE.weights, atol=0.01)
    for ours, exact in zip(np.array(fitted.components)[order], MIXTURE.components, strict=True):
        np.testing.assert_allclose(ours.mean, exact.mean, atol=0.05)
        np.testing.assert_allclose(ours.cov, exact.cov, atol=0.06)


def test_weights_turn_one_distribution_into_another(rng):
    wide = sb.Gaussian([0.0, 0.0], std=4.0)
    points = wide.sample(50_000, rng)
    weights = np.exp(MIXTURE.log_prob(points) - wide.log_prob(points))
    fitted = fit_mixture(WeightedPoints(points, weights / weights.sum(), 5000), 2, rng)
    assert np.sort(fitted.weights) == pytest.approx([0.3, 0.7], abs=0.03)


def test_few_points_make_a_wide_and_simple_mixture(rng):
    """Predictive: on average the fit explains new points better than the plain covariance does."""
    target = sb.Gaussian(np.zeros(8), std=1.0)
    ours, plain = [], []
    for _ in range(50):
        points, new = target.sample(15, rng), target.sample(1000, rng)
        ours.append(fit_mixture(equal(points), 1, rng).log_prob(new).mean())
        plain.append(sb.Gaussian(points.mean(axis=0), cov=np.cov(points.T)).log_prob(new).mean())
    assert np.mean(ours) > np.mean(plain) + 1
    assert np.mean(ours) > target.log_prob(target.sample(1000, rng)).mean() - 3


def test_tied_components_share_a_covariance(rng):
    fitted = fit_mixture(equal(MIXTURE.sample(1000, rng)), 2, rng, tied=True)
    np.testing.assert_array_equal(fitted.components[0].cov, fitted.components[1].cov)


def test_the_number_of_components_is_chosen_by_what_they_predict(rng):
    assert len(choose_mixture(equal(sb.Gaussian([0, 0], cov=COV).sample(1000, rng)), rng).components) == 1
    mixture = None
    for _ in range(3):
        mixture = choose_mixture(equal(MIXTURE.sample(1000, rng)), rng, mixture)
    assert 2 <= len(mixture.components) <= 4
    few = choose_mixture(
        WeightedPoints(*vars(equal(MIXTURE.sample(1000, rng))).values()).part(np.arange(8), 0.008), rng
    )
    assert len(few.components) == 1, "eight points cannot tell two components apart"


def test_scales_do_not_matter(rng):
    points = MIXTURE.sample(1000, rng)
    plain = choose_mixture(equal(points), np.random.default_rng(1))
    scaled = choose_mixture(equal(points * [1e-6, 1e6]), np.random.default_rng(1))
    np.testing.assert_allclose(scaled.mean, plain.mean * [1e-6, 1e6], rtol=1e-6)
    np.testing.assert_allclose(scaled.log_prob(points * [1e-6, 1e6]), plain.log_prob(points), rtol=1e-6)


# -- proposals ---------------------------------------------------------------------------------------------------------


def test_quasi_random_draws_are_draws_and_more_even(rng):
    means = {"quasi": [], "random": []}
    for _ in range(200):
        means["quasi"].append(quasi_random(MIXTURE, 100, rng).mean(axis=0))
        means["random"].append(MIXTURE.sample(100, rng).mean(axis=0))
    np.testing.assert_allclose(np.mean(means["quasi"], axis=0), MIXTURE.mean, atol=0.03)
    assert (np.std(means["quasi"], axis=0) < 0.3 * np.std(means["random"], axis=0)).all()
    many = np.concatenate([quasi_random(MIXTURE, 500, rng) for _ in range(100)])
    np.testing.assert_allclose(np.cov(many.T), MIXTURE.cov, rtol=0.05, atol=0.05)


def test_a_quadratic_log_density_is_found_from_afar(rng):
    target = sb.Gaussian([3.0, -2.0, 1.0], cov=np.diag([0.1, 1.0, 0.5]))
    points = 2 * rng.normal(size=(400, 3))
    log_prob = target.log_prob(points)
    jump = quadratic_proposal(points, log_prob, log_prob)
    np.testing.assert_allclose(jump.mean, target.mean, atol=0.05)
    np.testing.assert_allclose(jump.cov, 1.15 * target.cov, atol=0.1)
    assert quadratic_proposal(points[:12], log_prob[:12], log_prob[:12]) is None
    log_prob[:100] = -np.inf
    np.testing.assert_allclose(quadratic_proposal(points, log_prob, log_prob).mean, target.mean, atol=0.05)


# -- weights -----------------------------------------------------------------------------------------------------------


def told(method, target, rng, num_batches, fails=lambda points: np.zeros(len(points), dtype=bool)):
    state = method.start(np.zeros((50, 2)), 10_000, rng)
    for _ in range(num_batches):
        points = method.ask(state, rng)
        failed = fails(points)
        evaluation = Evaluation(np.where(failed, -np.inf, target.log_prob(points)), failed)
        state, info = method.tell(state, points, evaluation, rng)
    return state, info


def test_the_weights_are_those_of_the_deterministic_mixture(rng):
    """Against a table of all densities at all points."""
    base = sb.Gaussian([0.0, 0.0], std=5.0)
    state, _ = told(sb.ArchiveSampler(base=base, batch=100), MIXTURE, rng, 4)
    densities = np.array([(base if each is None else each).log_prob(state.points) for each in state.proposals])
    expected = logsumexp(densities + np.log(np.array(state.counts))[:, None], axis=0)
    np.testing.assert_allclose(state.log_proposed, expected, rtol=1e-10)
    assert len(state.points) == sum(state.counts) == state.num_evals


def test_failed_evaluations_are_as_if_never_drawn(rng):
    method = sb.ArchiveSampler(base=sb.Gaussian([0.0, 0.0], std=5.0), batch=100)
    state, _ = told(method, MIXTURE, rng, 3, fails=lambda points: rng.random(len(points)) < 0.3)
    assert len(state.points) == sum(state.counts) < state.num_evals
    assert np.isfinite(state.log_prob).all()


START = sb.Gaussian([0.0, 0.0], std=5.0)


def run(target=MIXTURE, initial=START, **settings):
    settings = {"num_particles": 100, "max_evals": 4_000, "vectorized": True, "seed": 0} | settings
    return sb.sample(target.log_prob, initial, method=sb.ArchiveSampler(), **settings)


def test_evidence_and_moments_are_right_over_seeds():
    """The target is normalised: the evidence is one. Within three standard errors over eight seeds."""
    results = [run(max_evals=1_500, seed=seed) for seed in range(8)]
    evidence = np.exp([result.trace["log_evidence"][-1] for result in results])
    assert abs(evidence.mean() - 1) < 3 * evidence.std(ddof=1) / np.sqrt(8)
    assert evidence.std() < 0.1
    means = np.array([result.mean for result in results])
    np.testing.assert_allclose(means.mean(axis=0), MIXTURE.mean, atol=0.1)


def test_dropped_weights_are_seen(monkeypatch):
    monkeypatch.setattr(
        "steinbox.samplers.archive.normalize", lambda log_weights: np.full(len(log_weights), 1 / len(log_weights))
    )
    assert np.abs(run().cov / MIXTURE.cov - 1).max() > 0.5


@pytest.mark.parametrize(
    ("target", "initial", "limit"),
    [
        (sb.targets.paper_gaussian(), sb.Gaussian([0, 0], std=3), 0.02),
        (sb.targets.Banana(), sb.Gaussian([0, 0], std=3), 0.05),
        (sb.targets.separated_modes(10), sb.Gaussian(np.zeros(10), std=3), 0.04),
        (sb.targets.paper_gmm(dimension=10), sb.Gaussian(np.zeros(10), std=3), 0.05),
    ],
    ids=["gaussian", "banana", "modes", "mixture"],
)
def test_particles_are_better_than_exact_draws(target, initial, limit):
    """MMD of 200 particles after 5,000 evaluations; 200 exact draws have about 0.055."""
    result = run(target, initial, num_particles=200, max_evals=5_000)
    assert sb.mmd(result.particles, target.sample(5_000, np.random.default_rng(9))) < limit
    np.testing.assert_array_equal(result.log_prob, target.log_prob(result.particles))


def test_the_budget_is_spent_and_never_exceeded():
    for budget in (200, 777, 3_001):
        assert run(max_evals=budget).num_evals == budget
    with pytest.raises(ValueError, match="too small to choose 100 particles"):
        run(max_evals=150)


def test_it_resumes_bit_for_bit(tmp_path):
    def interrupt(iteration):
        if iteration.index == 4:
            raise KeyboardInterrupt

    whole = run()
    assert run(checkpoint=tmp_path / "run.ckpt", callback=interrupt).status is sb.Status.INTERRUPTED
    resumed = run(checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    np.testing.assert_array_equal(resumed.trace["log_evidence"], whole.trace["log_evidence"])


def test_walls_and_bounds():
    target = sb.Gaussian([0.0, 0.0], std=1.0)

    def half(x):
        return np.where(x[:, 0] > 0, target.log_prob(x), -np.inf)

    walled = sb.sample(half, START, method=sb.ArchiveSampler(), max_evals=2_000, vectorized=True, seed=0)
    bounded = run(target, START, bounds=[(0, None), None], max_evals=2_000)
    for result in (walled, bounded):
        assert result.particles[:, 0].min() > 0
        assert result.mean[0] == pytest.approx(np.sqrt(2 / np.pi), abs=0.05)


def test_nonsense_is_refused_in_words():
    with pytest.raises(ValueError, match="batches of at least 20 evaluations, got 3"):
        sb.ArchiveSampler(batch=3)
    with pytest.raises(ValueError, match="growth"):
        dataclasses.replace(sb.ArchiveSampler(), growth=-1.0)
    with pytest.raises(ValueError, match="has no use for archive="):
        run(archive=run(max_evals=300).archive)
