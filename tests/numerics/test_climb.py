"""Climbs by values: oracles are functions whose tops and curvatures are known."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from steinbox.common.serialization import pack, unpack
from steinbox.numerics.climb import Curvature, num_second_differences, start_climb


def climb_up(function, start, max_evals=20_000, **settings):
    climb = start_climb(np.asarray(start, dtype=float), **settings)
    while not climb.is_done:
        climb = climb.tell(function(climb.ask()))
        assert climb.num_evals < max_evals
    return climb


def gaussian(mean, covariance):
    precision = np.linalg.inv(covariance)
    return lambda x: -0.5 * np.einsum("ni,ij,nj->n", x - mean, precision, x - mean)


@pytest.mark.parametrize("dimension", [1, 2, 7, 20])
def test_the_gaussian_at_the_top_of_a_gaussian_is_that_gaussian(dimension):
    """Axes a thousand times narrower than the start, turned."""
    rng = np.random.default_rng(dimension)
    rotation = ortho_group.rvs(dimension, random_state=rng) if dimension > 1 else np.eye(1)
    covariance = rotation @ np.diag(10 ** rng.uniform(-6, -2, dimension)) @ rotation.T
    mean = 0.3 * rng.standard_normal(dimension)
    climb = climb_up(gaussian(mean, covariance), rng.standard_normal(dimension))
    assert climb.value > -0.5
    root = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(root, np.linalg.solve(root, climb.covariance).T)
    np.testing.assert_allclose(whitened, np.eye(dimension), atol=1e-3)


def test_it_goes_along_a_bent_valley_to_the_top_of_rosenbrock():
    climb = climb_up(lambda x: -100 * (x[:, 1] - x[:, 0] ** 2) ** 2 - (1 - x[:, 0]) ** 2, [-1.2, 1.0])
    assert climb.value > -2  # from −24, and from the other side of the valley


def test_it_comes_down_from_far_out_in_a_heavy_tail():
    """There the function is not concave, and BFGS learns nothing."""
    climb = climb_up(lambda x: -3.5 * np.log1p((x**2).sum(axis=1) / 1e-4), [3.0, -2.0, 1.0])
    assert np.linalg.norm(climb.point) < 0.01


def test_it_stays_inside_a_wall():
    def half_normal(x):
        return np.where((x > 0).all(axis=1), -0.5 * (x**2).sum(axis=1), -np.inf)

    climb = climb_up(half_normal, [1.0, 2.0])
    assert (climb.point > 0).all()
    assert climb.value > -0.2
    assert np.isfinite(climb.covariance).all()


def test_a_start_outside_the_support_ends_at_once():
    climb = climb_up(lambda x: np.full(len(x), -np.inf), [0.0, 0.0])
    assert climb.value == -np.inf


def test_a_plateau_ends_at_once():
    climb = climb_up(lambda x: np.zeros(len(x)), [0.5, 0.5])
    assert climb.num_evals < 30
    np.testing.assert_array_equal(climb.point, [0.5, 0.5])


def test_the_gaussian_is_that_of_bfgs_if_second_differences_are_too_many():
    dimension = 5
    function = gaussian(np.zeros(dimension), np.diag(10.0 ** -np.arange(dimension)))
    climb = climb_up(function, np.ones(dimension), max_curvature_evals=num_second_differences(dimension) - 1)
    assert climb.value > -0.2
    assert np.isfinite(climb.covariance).all()


def test_curvature_takes_as_many_evaluations_as_said():
    climb = start_climb(np.ones(6))
    while not isinstance(climb.phase, Curvature):
        climb = climb.tell(-0.5 * (climb.ask() ** 2).sum(axis=1))
    assert len(climb.ask()) == num_second_differences(6) == 27


def test_a_climb_that_was_saved_goes_on_as_if_nothing_had_happened():
    function = gaussian(np.zeros(3), np.diag([1.0, 0.01, 1e-4]))
    climb = start_climb(np.ones(3))
    for _ in range(5):
        climb = climb.tell(function(climb.ask()))
    arrays = {}
    again = unpack(pack(climb, arrays), arrays)
    while not climb.is_done:
        climb, again = climb.tell(function(climb.ask())), again.tell(function(again.ask()))
    np.testing.assert_array_equal(climb.point, again.point)
    np.testing.assert_array_equal(climb.covariance, again.covariance)


def test_points_that_fail_here_and_there_do_no_harm():
    rng = np.random.default_rng(0)

    def unreliable(x):
        return np.where(rng.random(len(x)) < 0.1, -np.inf, -0.5 * (x**2).sum(axis=1) / 0.01)

    climb = climb_up(unreliable, [1.0, -1.0, 0.5])
    assert np.isfinite(climb.covariance).all()


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_a_sharp_ridge_is_no_top(seed):
    """Turned heavy tails: at one standard deviation, second differences on an arm look like those of a top."""
    rng = np.random.default_rng(seed)
    rotation, scales = np.linalg.qr(rng.standard_normal((6, 6)))[0], np.geomspace(0.05, 1, 6)

    def log_prob(x):
        return -2 * np.log1p((x @ rotation / scales) ** 2 / 3).sum(axis=1)

    climb = climb_up(log_prob, 3 * rng.standard_normal(6), max_evals=1_000)
    assert climb.value > -0.1
