"""With noise, values are smoothed before they become weights."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.samplers.adaptive.smoothing import smooth

START = sb.Gaussian([0.0, 0.0], std=2.0)
TARGET = sb.Gaussian([0.5, -0.5], cov=[[1.0, 0.6], [0.6, 1.0]])


def make_archive(std, num_points=1500, seed=0):
    rng = np.random.default_rng(seed)
    points = START.sample(num_points, rng)
    values = TARGET.log_prob(points) + std * rng.standard_normal(num_points)
    source = sb.adaptive.Source("initial", None, num_points)
    return sb.adaptive.WeightedArchive.empty(2).extend(points, values, (source,), START)


def test_smoothed_values_are_near_the_truth_and_so_is_their_evidence():
    archive = make_archive(3.0)
    smoothed, error = smooth(archive, archive.log_prob, 3.0)
    weights = np.exp(TARGET.log_prob(archive.points) - archive.log_proposed)
    deviations = smoothed.log_prob - TARGET.log_prob(archive.points)
    assert archive.log_evidence > 3.0  # about half the variance of the noise
    assert abs(smoothed.log_evidence) < 0.25
    assert 0.05 < error < 0.3
    assert np.sqrt(weights @ deviations**2 / weights.sum()) < 0.75  # of 3
    assert smoothed.effective_sample_size > 10 * archive.effective_sample_size


def test_what_is_known_well_is_left_alone():
    """The variance of the noise in the weights is taken away; with next to no noise nothing is."""
    archive = make_archive(1e-3)
    smoothed, _ = smooth(archive, archive.log_prob, 1e-3)
    np.testing.assert_allclose(smoothed.log_prob, archive.log_prob, atol=1e-4)


def test_where_no_smooth_function_fits_weights_are_the_unbiased_ones_of_noisy_values():
    """White log-densities of standard deviation 20 with noise of standard deviation 1: half its variance is taken."""
    archive = make_archive(20.0)
    smoothed, _ = smooth(archive, archive.log_prob, 1.0)
    heavy = archive.log_prob > np.quantile(archive.log_prob, 0.9)
    assert np.abs(smoothed.log_prob - (archive.log_prob - 0.5))[heavy].mean() < 0.3


def test_points_far_out_and_outside_keep_their_values():
    archive = make_archive(1.0)
    observed = archive.log_prob.copy()
    observed[:5], observed[5:9] = -np.inf, -1e9
    archive = sb.adaptive.WeightedArchive(archive.points, observed, archive.log_proposed, archive.sources)
    smoothed, _ = smooth(archive, observed, 1.0)
    np.testing.assert_array_equal(smoothed.log_prob[:9], observed[:9])
    assert np.isfinite(smoothed.log_prob[9:]).all()
    assert abs(smoothed.log_evidence) < 0.25


def run(std, noise, seed=0, **settings):
    def log_prob(x, rng):
        return TARGET.log_prob(x) + std * np.array([each.standard_normal() for each in rng])

    settings = {"num_particles": 50, "max_evals": 1_500, "vectorized": True} | settings
    return sb.sample(log_prob, START, seed=seed, noise=noise, **settings)


def test_a_run_with_much_noise_rests_on_no_lucky_value():
    told, quiet = run(3.0, 3.0), run(3.0, None)
    assert abs(told.log_evidence) < 0.3 < 2.0 < quiet.log_evidence
    assert told.log_evidence_error > 0.04
    assert np.abs(told.mean - TARGET.mean).max() < 0.3
    true = TARGET.log_prob(told.particles)
    assert np.sqrt(np.mean((told.log_prob - true) ** 2)) < 1.0
    rows = [np.flatnonzero((told.archive.points == particle).all(axis=1))[0] for particle in told.particles]
    assert np.sqrt(np.mean((told.archive.log_prob[rows] - true) ** 2)) > 2.0  # the values themselves are kept


def test_unbiased_noise_is_taken_for_what_it_is():
    """The same values mean an integral that is larger by half the variance; proposals see no difference."""
    one, other = run(2.0, 2.0), run(2.0, sb.Noise(2.0, is_unbiased=True))
    np.testing.assert_allclose(other.log_evidence - one.log_evidence, 2.0, atol=1e-6)


def test_noise_of_unknown_size_is_measured_by_repeats():
    result = run(1.0, True)
    assert list(result.trace["proposers"]).count("repeats") == 1
    assert abs(result.log_evidence) < 0.25
    assert "repeats" not in set(run(1.0, 1.0).trace["proposers"])


@pytest.mark.parametrize("noise", [True, 1.0])
def test_a_function_without_noise_suffers_little(noise):
    assert abs(run(0.0, noise).log_evidence) < 0.15


def test_a_run_with_noise_resumes_bit_for_bit(tmp_path):
    def interrupt(iteration):
        if iteration.index == 4:
            raise KeyboardInterrupt

    whole = run(3.0, True, max_evals=800)
    run(3.0, True, max_evals=800, checkpoint=tmp_path / "run.ckpt", callback=interrupt)
    resumed = run(3.0, True, max_evals=800, checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(whole.particles, resumed.particles)
    assert whole.log_evidence == resumed.log_evidence
