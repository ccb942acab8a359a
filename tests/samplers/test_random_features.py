"""Stein samplers with random features in place of exact sums."""

import tracemalloc

import numpy as np
import pytest

import steinbox as sb
from steinbox.numerics.kernels import IMQ, RBF
from steinbox.samplers.stein.direction import stein_direction

TARGET = sb.Gaussian([1.0, -1.0, 0.5], std=0.7)
START = sb.Gaussian([0.0, 0.0, 0.0], std=2.0)


def run(method, num_particles):
    score = TARGET.score if method.needs_score else None
    return sb.sample(
        TARGET.log_prob,
        START,
        score=score,
        method=method,
        num_particles=num_particles,
        vectorized=True,
        seed=0,
    )


def test_the_direction_is_near_the_exact_one(rng):
    x = START.sample(2_000, rng)
    weights = rng.exponential(size=len(x))
    forces = x, TARGET.score(x), weights / weights.sum(), RBF(), 20.0, 1.7
    exact = stein_direction(*forces)
    assert np.linalg.norm(sb.RandomFeatures(1_000)(*forces) - exact) < 0.1 * np.linalg.norm(exact)


def test_features_are_those_of_the_particles(rng):
    x = START.sample(100, rng)
    forces = TARGET.score(x), np.full(100, 0.01), RBF(), 20.0
    first = sb.RandomFeatures(50)(x, *forces)
    np.testing.assert_array_equal(sb.RandomFeatures(50)(x.copy(), *forces), first)
    moved = sb.RandomFeatures(50)(x + 1e-9, *forces)  # the same particles, other features
    assert np.abs(moved - first).max() > 1e-4


def test_a_particle_of_weight_zero_pushes_nobody(rng):
    x = START.sample(100, rng)
    score, weights = TARGET.score(x), np.where(np.arange(100) % 7, 0.01, 0.0)
    expected = sb.RandomFeatures(50)(x, np.where(weights[:, None] > 0, score, 0.0), weights, RBF(), 20.0)
    score[weights == 0] = np.nan
    np.testing.assert_array_equal(sb.RandomFeatures(50)(x, score, weights, RBF(), 20.0), expected)


def test_memory_is_linear_in_the_particles(rng):
    x = rng.standard_normal((20_000, 10))
    weights = np.full(20_000, 1 / 20_000)
    tracemalloc.start()
    sb.RandomFeatures()(x, -x, weights, RBF(), 20.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6


@pytest.mark.parametrize("method", [sb.SVGD, sb.AnnealedSVGD])
def test_particles_get_the_targets_mean_and_spread(method):
    settings = {"num_iterations": 150, "direction": sb.RandomFeatures(200)}
    particles = run(method(**settings), 1_000).particles
    np.testing.assert_allclose(particles.mean(axis=0), TARGET.mean, atol=0.05)
    np.testing.assert_allclose(particles.std(axis=0), 0.7, rtol=0.1)
    np.testing.assert_array_equal(particles, run(method(**settings), 1_000).particles)


def said(result):
    """What a run says of its approximation."""
    return [warning for warning in result.warnings if warning.startswith("The approximate direction was off by")]


@pytest.mark.parametrize("method", [sb.SVGD, sb.AnnealedSVGD, sb.GFSVGD])
def test_a_kernel_that_is_too_narrow_is_said(method):
    settings = {"num_iterations": 60, "direction": sb.RandomFeatures(20)}
    (warning,) = said(run(method(bandwidth=0.01, **settings), 300))
    assert "too narrow for so few random features" in warning
    assert 'bandwidth="median"' in warning
    assert said(run(method(**settings), 300)) == []
    assert said(run(method(bandwidth=0.01, num_iterations=60), 300)) == [], "exact sums"


def test_more_features_silence_it():
    narrow = {"num_iterations": 60, "bandwidth": "paper"}
    errors = []
    for num_features in (5, 2_000):
        result = run(sb.SVGD(direction=sb.RandomFeatures(num_features), **narrow), 300)
        errors.append(len(said(result)))
    assert errors == [1, 0]


@pytest.mark.parametrize("repulsion", [1.0, 1.7])
def test_the_error_that_is_said_is_the_error(rng, repulsion):
    x = START.sample(400, rng)
    weights = rng.exponential(size=len(x)) * (np.arange(400) % 7 > 0)
    score = np.where(weights[:, None] > 0, TARGET.score(x), np.nan)
    forces = x, score, weights / weights.sum(), RBF(), 3.0
    drive = stein_direction(*forces, 0.0)
    spread = stein_direction(*forces, repulsion) - drive
    missed = sb.RandomFeatures(50)(*forces, repulsion) - drive - spread
    true = np.linalg.norm(missed) / max(np.linalg.norm(drive), np.linalg.norm(spread))
    assert sb.RandomFeatures(50).relative_error(*forces, repulsion) == pytest.approx(true, rel=0.2)
    few = [each[:30] if isinstance(each, np.ndarray) else each for each in forces]
    assert np.isfinite(sb.RandomFeatures(50).relative_error(*few))


def test_all_directions_of_a_surrogate_are_found_by_the_given_function():
    calls = []

    def direction(x, *others):
        calls.append(len(x))
        return stein_direction(x, *others)

    settings = {"num_iterations": 4, "flat_share": 0.3}
    given = run(sb.GFSVGD(direction=direction, **settings), 30).particles
    np.testing.assert_array_equal(given, run(sb.GFSVGD(**settings), 30).particles)
    assert calls == 2 * 5 * [30]  # the surrogate's and the flat one's, at the start and after each move


def test_settings_are_refused_in_words(rng):
    with pytest.raises(TypeError, match=r"expected direction to be an object, got the class RandomFeatures"):
        sb.SVGD(direction=sb.RandomFeatures)
    with pytest.raises(TypeError, match=r"expected direction to be something like RandomFeatures\(\), got 'features'"):
        sb.SVGD(direction="features")
    for method in (sb.GFSVGD, sb.AnnealedGFSVGD):
        with pytest.raises(ValueError, match="weight= and direction= cannot be combined"):
            method(weight=np.eye(3), direction=sb.RandomFeatures())
    with pytest.raises(ValueError, match="expected num_features to be a whole number of at least 1, got 0"):
        sb.RandomFeatures(num_features=0)
    with pytest.raises(ValueError, match=r"RandomFeatures are those of the kernel RBF\(\), got IMQ\(exponent=-0.5\)"):
        sb.RandomFeatures()(np.ones((2, 1)), np.ones((2, 1)), np.ones(2), IMQ(), 1.0)
