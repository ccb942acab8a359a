"""The path and its schedule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steinbox as sb
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
    ],
)
def test_bad_schedules_are_refused_in_words(settings, message):
    with pytest.raises(ValueError, match=message):
        sb.Schedule(**settings)
