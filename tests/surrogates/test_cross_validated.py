"""Surrogates of a sample against processes that were really fitted with and without the point."""

import numpy as np
import pytest
from autograd import grad
from autograd import numpy as anp

import steinbox as sb
from steinbox.maps.coordinates import Whitened
from steinbox.surrogates import LeaveOneOut, PassThrough

TARGET = sb.targets.Banana()
SETTINGS = {"length_scales": (2.0,), "nugget": 1e-6}


def refitted(x, values, leave_one_out, nugget=1e-6, length_scale=2.0):
    """Mean and unscaled variance of the process fitted to all points but one, as a function of z; by the textbook."""
    coordinates = Whitened().fit(x)
    others, observed = coordinates.forward(x), values
    if leave_one_out is not None:
        others, observed = np.delete(others, leave_one_out, axis=0), np.delete(values, leave_one_out)
    bandwidth = 2 * length_scale * x.shape[1]
    features = np.column_stack([np.ones(len(others)), others, (others**2).sum(axis=1)])
    squares = ((others[:, None] - others) ** 2).sum(axis=-1)
    gram = np.exp(-squares / bandwidth) + nugget * np.eye(len(others))
    inverse = np.linalg.inv(gram)
    moments = features.T @ inverse @ features
    trend = np.linalg.solve(moments, features.T @ inverse @ observed)
    coefficients = inverse @ (observed - features @ trend)

    def parts(z):
        cross = anp.exp(-anp.sum((others - z) ** 2, axis=1) / bandwidth)
        feature = anp.concatenate([anp.ones(1), z, anp.sum(z**2).reshape(1)])
        return cross, feature

    def mean(z):
        cross, feature = parts(z)
        return feature @ trend + cross @ coefficients

    def variance(z):
        cross, feature = parts(z)
        rest = feature - features.T @ inverse @ cross
        return 1 + nugget - cross @ inverse @ cross + rest @ np.linalg.inv(moments) @ rest

    return coordinates, mean, variance


def test_values_and_scores_are_those_of_refitting_without_the_point(rng):
    x = TARGET.sample(25, rng)
    values = TARGET.log_prob(x) - 1000
    log_prob, score = LeaveOneOut(**SETTINGS).evaluate_sample(x, values)
    fits = [refitted(x, values, i) for i in range(25)]
    z = fits[0][0].forward(x)
    means = np.array([mean(z[i]) for i, (_, mean, _) in enumerate(fits)])
    variances = np.array([variance(z[i]) for i, (_, _, variance) in enumerate(fits)])
    scale = ((values - means) ** 2 / variances).mean()
    np.testing.assert_allclose(log_prob, means - scale * variances, rtol=1e-4)
    slopes = np.array([grad(mean)(z[i]) - scale * grad(variance)(z[i]) for i, (_, mean, variance) in enumerate(fits)])
    np.testing.assert_allclose(score, fits[0][0].pull_back_score(x, slopes), rtol=1e-3, atol=1e-4)


def test_passing_through_is_the_process_fitted_to_all_points(rng):
    x = TARGET.sample(25, rng)
    values = TARGET.log_prob(x)
    log_prob, score = PassThrough(**SETTINGS).evaluate_sample(x, values)
    coordinates, mean, _ = refitted(x, values, None)
    z = coordinates.forward(x)
    np.testing.assert_array_equal(log_prob, values)
    np.testing.assert_allclose(
        score, coordinates.pull_back_score(x, [grad(mean)(point) for point in z]), rtol=1e-4, atol=1e-5
    )


def test_a_quadratic_target_is_found_almost_exactly(rng):
    x = rng.standard_normal((60, 3))
    log_prob, score = LeaveOneOut().evaluate_sample(x, -0.5 * (x**2).sum(axis=1))
    np.testing.assert_allclose(log_prob, -0.5 * (x**2).sum(axis=1), atol=0.02)
    np.testing.assert_allclose(score, -x, atol=0.02)


def test_copies_are_left_out_together_and_agree(rng):
    x = TARGET.sample(80, rng)
    order = rng.permutation(np.r_[np.arange(80), np.arange(20)])
    log_prob, score = LeaveOneOut().evaluate_sample(x, TARGET.log_prob(x))
    with_copies = LeaveOneOut().evaluate_sample(x[order], TARGET.log_prob(x[order]))
    np.testing.assert_allclose(with_copies[0], log_prob[order], atol=1e-6)
    np.testing.assert_allclose(with_copies[1], score[order], atol=1e-4)


def test_many_points_are_split_into_groups(rng):
    x = TARGET.sample(300, rng)
    log_prob, score = LeaveOneOut(max_points=100, **SETTINGS).evaluate_sample(x, TARGET.log_prob(x))
    assert np.isfinite(log_prob).all()
    assert np.median(np.abs(score - TARGET.score(x))) < 0.05
    moved = TARGET.log_prob(x)
    moved[0] += 5.0  # changes the surrogate of its own group, and of no other
    changed = LeaveOneOut(max_points=100, **SETTINGS).evaluate_sample(x, moved)[0] != log_prob
    assert set(np.flatnonzero(changed) % 3) == {0}


@pytest.mark.parametrize("num_points", [3, 6, 12])
def test_few_points_in_many_dimensions_give_finite_numbers(num_points, rng):
    x = rng.standard_normal((num_points, 10))
    log_prob, score = LeaveOneOut().evaluate_sample(x, -0.5 * (x**2).sum(axis=1))
    assert np.isfinite(log_prob).all()
    assert np.isfinite(score).all()


def test_equal_values_give_a_flat_surrogate(rng):
    log_prob, score = LeaveOneOut().evaluate_sample(rng.standard_normal((20, 2)), np.full(20, 7.0))
    np.testing.assert_allclose(log_prob, 7.0)
    np.testing.assert_allclose(score, 0.0, atol=1e-12)


@pytest.mark.parametrize("settings", [{"nugget": 0}, {"max_points": 2}, {"length_scales": ()}, {"length_scales": (0,)}])
def test_nonsense_settings_are_refused(settings):
    with pytest.raises(ValueError, match="LeaveOneOut expects"):
        LeaveOneOut(**settings)


def test_it_cannot_drive_a_sampler():
    with pytest.raises(TypeError, match="expected a surrogate"):
        sb.sample(TARGET.log_prob, sb.Gaussian([0, 0], std=1), method=sb.GFSVGD(surrogate=LeaveOneOut()))
