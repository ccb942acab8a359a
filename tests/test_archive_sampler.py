"""The archive sampler: its ledger, its decisions and its answers."""

import dataclasses

import numpy as np
import pytest
from scipy.special import logsumexp

import steinbox as sb
from steinbox.evaluate import Evaluation

COV = np.array([[2.0, 1.2], [1.2, 1.0]])
MIXTURE = sb.GaussianMixture([sb.Gaussian([-4.0, 0.0], cov=COV), sb.Gaussian([4.0, 1.0], std=0.5)], [0.7, 0.3])


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
    ledger = state.ledger
    densities = np.array([(base if each is None else each).log_prob(ledger.points) for each in ledger.proposals])
    expected = logsumexp(densities + np.log(np.array(ledger.counts))[:, None], axis=0)
    np.testing.assert_allclose(ledger.log_proposed, expected, rtol=1e-10)
    np.testing.assert_allclose(ledger.log_density(ledger.points, base), expected, rtol=1e-10)
    assert len(ledger) == sum(ledger.counts) == state.num_evals


def test_failed_evaluations_are_as_if_never_drawn(rng):
    method = sb.ArchiveSampler(base=sb.Gaussian([0.0, 0.0], std=5.0), batch=100)
    state, _ = told(method, MIXTURE, rng, 3, fails=lambda points: rng.random(len(points)) < 0.3)
    assert len(state.ledger) == sum(state.ledger.counts) < state.num_evals
    assert np.isfinite(state.ledger.log_prob).all()


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
        "steinbox.archive_sampler.answer.normalize", lambda log_weights: np.full(len(log_weights), 1 / len(log_weights))
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
