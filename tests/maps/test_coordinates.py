"""Coordinates: maps that invert, scores that follow the chain rule, rotations that commute."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from steinbox.maps.coordinates import Plain, Standardized, Whitened

ALL = [Plain(), Standardized(), Whitened()]


@pytest.fixture
def x(rng):
    return rng.standard_normal((40, 3)) @ np.array([[100.0, 0, 0], [3, 1e-3, 0], [0, 0, 1]]) + 7


@pytest.mark.parametrize("coordinates", ALL)
def test_a_step_in_z_is_the_difference_in_z(coordinates, x, rng):
    affine = coordinates.fit(x)
    step = rng.standard_normal(x.shape)
    np.testing.assert_allclose(affine.forward(affine.displace(x, step)) - affine.forward(x), step, atol=1e-8)


@pytest.mark.parametrize("coordinates", ALL)
def test_scores_follow_the_chain_rule(coordinates, x, rng):
    affine = coordinates.fit(x)
    score, step = rng.standard_normal((2, *x.shape))
    moved = affine.displace(x, step) - x
    np.testing.assert_allclose((affine.push_score(score) * step).sum(), (score * moved).sum(), rtol=1e-10)
    np.testing.assert_allclose(affine.pull_back_score(x, affine.push_score(score)), score, rtol=1e-8)


def test_standardized_and_whitened_have_unit_spread(x):
    np.testing.assert_allclose(Standardized().fit(x).forward(x).std(axis=0), 1, rtol=1e-10)
    many = np.tile(x, (500, 1))
    np.testing.assert_allclose(np.cov(Whitened().fit(many).forward(many).T), np.eye(3), atol=0.02)


def test_whitening_shrinks_the_covariance_towards_its_diagonal(rng):
    x = rng.standard_normal((12, 4)) @ rng.standard_normal((4, 4))
    covariance, share = np.cov(x.T, bias=True), 4 / 16
    expected = (1 - share) * covariance + share * np.diag(np.diag(covariance))
    root = Whitened().fit(x).root
    np.testing.assert_allclose(root @ root.T, expected, rtol=1e-10)


def test_whitening_commutes_with_rotation_up_to_the_diagonal_shrinkage(rng):
    x = rng.standard_normal((50_000, 3)) * [1, 2, 3]
    rotation = ortho_group.rvs(3, random_state=rng)
    z, z_rotated = Whitened().fit(x).forward(x), Whitened().fit(x @ rotation.T).forward(x @ rotation.T)
    np.testing.assert_allclose(z_rotated, z @ rotation.T, atol=1e-3)


@pytest.mark.parametrize("coordinates", ALL)
def test_a_map_exists_for_few_points_and_for_a_coordinate_without_spread(coordinates, rng):
    few = rng.standard_normal((3, 10))
    flat = np.column_stack([rng.standard_normal(10), np.full(10, 4.0)])
    assert np.isfinite(coordinates.fit(few).forward(few)).all()
    assert np.isfinite(coordinates.fit(flat).forward(flat)).all()
