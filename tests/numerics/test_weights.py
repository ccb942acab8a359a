"""Weights in logarithms."""

import numpy as np
import pytest

from steinbox.numerics.weights import effective_sample_size, normalize


def test_weights_sum_to_one_whatever_their_scale(rng):
    log_weights = 1000 * rng.standard_normal(50)
    np.testing.assert_allclose(normalize(log_weights).sum(), 1)
    np.testing.assert_allclose(normalize(log_weights + 1e5), normalize(log_weights), atol=1e-9)


def test_no_weight_is_no_weight_but_some_must_be():
    np.testing.assert_array_equal(normalize(np.array([-np.inf, 3.0])), [0, 1])
    for bad in (np.full(3, -np.inf), np.array([np.nan, 0.0]), np.array([np.inf, 0.0])):
        with pytest.raises(ValueError, match="at least one finite log-weight"):
            normalize(bad)


def test_effective_sample_size_between_one_and_n():
    assert effective_sample_size(np.full(10, 0.1)) == pytest.approx(10)
    assert effective_sample_size(np.array([1.0, 0.0, 0.0])) == 1
    assert effective_sample_size(np.array([2.0, 1.0, 1.0])) == pytest.approx(16 / 6)
