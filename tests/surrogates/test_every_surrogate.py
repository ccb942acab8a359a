"""What every surrogate must do: one row of ``implementations.SURROGATES`` each."""

import numpy as np
import pytest
from implementations import FOR_A_SAMPLE, SURROGATES

from steinbox import surrogates
from steinbox.surrogates.base import as_builder, evaluate


def log_target(points):
    return -0.5 * (points**2).sum(axis=1) + np.sin(points[:, 0]) - 50


@pytest.fixture
def points(rng):
    return rng.standard_normal((40, 3)) * [1, 2, 0.5]


def built(name, points, values, num_current=30):
    return as_builder(SURROGATES[name]).build(points, values, num_current)


def test_every_public_surrogate_has_a_row():
    public = {getattr(surrogates, name) for name in surrogates.__all__ if name not in FOR_A_SAMPLE}
    classes = public - {surrogates.Builder, surrogates.Surrogate}
    assert classes == {type(each) for each in SURROGATES.values()}


@pytest.mark.parametrize("name", SURROGATES)
def test_the_score_is_the_gradient_of_log_prob(name, points):
    """By central differences, of which the error is about 1e-8."""
    surrogate, x, step = built(name, points, log_target(points)), points[:6] + 0.1, 1e-5
    gradient = np.column_stack(
        [
            (surrogate.log_prob(x + step * axis) - surrogate.log_prob(x - step * axis)) / (2 * step)
            for axis in np.eye(x.shape[1])
        ]
    )
    np.testing.assert_allclose(surrogate.score(x), gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", SURROGATES)
def test_both_at_once_are_each_by_itself(name, points):
    surrogate, x = built(name, points, log_target(points)), points[:6] + 0.1
    log_prob, score = evaluate(surrogate, x)
    assert log_prob.shape == (6,)
    assert score.shape == (6, 3)
    np.testing.assert_allclose(log_prob, surrogate.log_prob(x), rtol=1e-12)
    np.testing.assert_allclose(score, surrogate.score(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SURROGATES)
def test_points_outside_the_support_leave_it_finite(name, points):
    values = np.where(points[:, 0] < -1, -np.inf, log_target(points))
    assert np.isneginf(values[:30]).any()
    log_prob, score = evaluate(built(name, points, values), points[values > -np.inf])
    assert np.isfinite(log_prob).all()
    assert np.isfinite(score).all()


@pytest.mark.parametrize("name", SURROGATES)
def test_a_constant_in_the_values_changes_no_score(name, points):
    scores = [built(name, points, log_target(points) + constant).score(points[:6]) for constant in (0.0, 300.0)]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6, atol=1e-6)
