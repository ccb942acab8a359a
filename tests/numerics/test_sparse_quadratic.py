"""Quadratics with few products, from fewer values than a full one has coefficients."""

import numpy as np
import pytest

from steinbox.numerics.sparse_quadratic import fit_sparse_quadratic

DIMENSION = 60  # 1,891 coefficients


@pytest.fixture
def precision(rng):
    """Of a random graph."""
    products = np.zeros((DIMENSION, DIMENSION))
    for first, second in rng.integers(DIMENSION, size=(DIMENSION, 2)):
        products[first, second] = products[second, first] = rng.uniform(0.3, 0.8) * (first != second)
    return products + np.diag(0.5 + products.sum(axis=1))


def quadratic(z, slope, precision):
    return z @ slope - 0.5 * ((z @ precision) * z).sum(axis=1)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_a_graph_is_found(rng, precision, correlation):
    root = np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(np.arange(DIMENSION), np.arange(DIMENSION))))
    z, slope = rng.normal(size=(1400, DIMENSION)) @ root.T, rng.normal(size=DIMENSION)
    weights = rng.dirichlet(np.full(1400, 10.0))
    found_slope, curvature = fit_sparse_quadratic(z, quadratic(z, slope, precision), weights)
    np.testing.assert_allclose(found_slope, slope, atol=1e-3)
    np.testing.assert_allclose(curvature, precision, atol=1e-3)


def test_noise_has_hardly_any_products(rng):
    z = rng.normal(size=(400, DIMENSION))
    _, curvature = fit_sparse_quadratic(z, rng.normal(size=400), np.full(400, 1 / 400))
    assert (np.triu(curvature, 1) != 0).sum() <= 4  # of 1,770


def test_products_that_are_not_there_are_forgotten(rng):
    z = rng.normal(size=(400, DIMENSION))
    values = quadratic(z, np.zeros(DIMENSION), np.eye(DIMENSION)) + 0.1 * rng.normal(size=400)
    wrong = np.column_stack([np.arange(DIMENSION - 1), np.arange(1, DIMENSION)])
    _, curvature = fit_sparse_quadratic(z, values, np.full(400, 1 / 400), wrong)
    assert (np.triu(curvature, 1) != 0).sum() <= 4


def test_too_few_points_give_nothing(rng):
    z = rng.normal(size=(3 * (2 * DIMENSION + 1) - 1, DIMENSION))
    assert fit_sparse_quadratic(z, z[:, 0], np.full(len(z), 1 / len(z))) is None
