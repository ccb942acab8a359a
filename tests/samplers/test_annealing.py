"""The path and its schedule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steinbox as sb
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.samplers.annealing import interpolate


@given(
    fraction=st.floats(0.01, 1),
    power=st.floats(0.1, 5),
    steps=st.integers(1, 10),
    num_iterations=st.integers(1, 200),
)
def test_a_schedule_rises_from_above_zero_and_ends_at_one(fraction, power, steps, num_iterations):
    schedule = sb.Schedule(fraction=fraction, power=power, steps_per_temperature=steps)
    temperatures = [schedule(iteration, num_iterations) for iteration in range(num_iterations + 1)]
    assert temperatures[0] > 0
    assert np.all(np.diff(temperatures) >= 0)
    assert temperatures[-1] == 1.0


def test_m_steps_per_temperature():
    schedule = sb.Schedule(fraction=1, power=1, steps_per_temperature=5)
    temperatures = [schedule(iteration, 20) for iteration in range(20)]
    np.testing.assert_allclose(temperatures, np.repeat([0.25, 0.5, 0.75, 1.0], 5))


def test_the_paper_s_path_is_linear_to_the_last_step():
    schedule = sb.Schedule(fraction=1, power=1)
    np.testing.assert_allclose([schedule(iteration, 8) for iteration in range(8)], np.arange(1, 9) / 8)


def test_the_path_is_geometric_and_ends_at_the_target_itself(rng):
    base, target = rng.standard_normal((2, 7))
    np.testing.assert_allclose(interpolate(base, target, 0.3), 0.7 * base + 0.3 * target)
    assert interpolate(np.array([-np.inf]), np.array([2.0]), 1.0) == 2.0
    assert interpolate(np.array([0.0]), np.array([-np.inf]), 0.3) == -np.inf


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fraction": 0.0}, r"fraction in \(0, 1\], got 0"),
        ({"power": -1.0}, "positive power"),
        ({"steps_per_temperature": 0}, "at least one step"),
        ({"share": 1.0}, r"share in \[0, 1\), got 1"),
    ],
)
def test_bad_schedules_are_refused_in_words(settings, message):
    with pytest.raises(ValueError, match=message):
        sb.Schedule(**settings)


def follow(schedule, log_ratio, num_iterations):
    """All temperatures, for particles that stay where they are."""
    temperatures = [0.0]
    for iteration in range(num_iterations + 1):
        temperatures.append(schedule.after(temperatures[-1], iteration, num_iterations, log_ratio))
    return np.array(temperatures[1:])


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_start_that_overlaps_the_target_changes_no_temperature(share, steps, rng):
    schedule = sb.Schedule(share=share, steps_per_temperature=steps)
    planned = [schedule(iteration, 60) for iteration in range(61)]
    np.testing.assert_array_equal(follow(schedule, rng.standard_normal(50), 60), planned)


@pytest.mark.parametrize("steps", [1, 3])
def test_a_start_that_is_much_wider_is_left_slowly_and_yet_in_time(steps, rng):
    log_ratio = np.append(-1e9 * rng.standard_normal(200) ** 2, -np.inf)
    schedule = sb.Schedule(share=0.5, steps_per_temperature=steps)
    temperatures, planned = follow(schedule, log_ratio, 90), [schedule(iteration, 90) for iteration in range(91)]
    first = effective_sample_size(normalize(temperatures[0] * log_ratio))
    assert first == pytest.approx(100, rel=1e-6), "of the particles inside the support"
    assert np.all(np.diff(temperatures) >= 0)
    assert np.all(temperatures <= planned)
    assert np.flatnonzero(temperatures == 1.0)[0] == np.flatnonzero(np.equal(planned, 1.0))[0]
    np.testing.assert_array_equal(temperatures[: 3 * steps : steps], temperatures[steps - 1 : 3 * steps : steps])


@pytest.mark.parametrize("method", [sb.AnnealedGFSVGD, sb.AnnealedSVGD])
def test_a_target_much_narrower_than_the_start_is_reached(method):
    """Seen to fail with temperatures set beforehand: the first of them left no particle any weight."""
    target = sb.Gaussian(np.arange(4.0), std=[1e-3, 0.01, 0.1, 1.0])
    start = sb.Gaussian(np.zeros(4), std=30.0)
    settings = {"num_particles": 60, "max_evals": 6_000, "vectorized": True, "score": target.score, "seed": 0}

    def error(**schedule):
        result = sb.sample(target.log_prob, start, method=method(**schedule), **settings)
        return np.abs(np.log(result.particles.std(axis=0) / np.sqrt(np.diag(target.cov)))).max()

    slow, beforehand = error(schedule=sb.Schedule(share=0.5)), error(schedule=sb.Schedule())
    assert slow < 0.3
    assert beforehand > 2


def test_a_schedule_may_be_any_function():
    result = sb.sample(
        lambda x: -0.5 * np.sum(x**2),
        sb.Gaussian([0.0, 0.0], std=2.0),
        method=sb.AnnealedGFSVGD(schedule=lambda iteration, num_iterations: (iteration + 1) / (num_iterations + 1)),
        num_particles=20,
        max_evals=100,
        seed=0,
    )
    np.testing.assert_allclose(result.trace["temperature"], [0.2, 0.4, 0.6, 0.8, 1.0])
