"""The shape of the tail of importance weights."""

import warnings

import numpy as np
import pytest
from scipy.stats import genpareto

from steinbox.numerics.weights import pareto_shape


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.9])
def test_the_shape_of_a_pareto_tail(shape):
    """Drawn a little towards 1/2, and with the noise of some 300 values."""
    shapes = [pareto_shape(np.log(genpareto(shape).rvs(10_000, random_state=seed))) for seed in range(20)]
    assert np.mean(shapes) == pytest.approx(shape, abs=0.05)


@pytest.mark.parametrize(
    "log_weights",
    [
        np.zeros(100),
        np.zeros(5),
        np.append(np.full(99, -np.inf), 0.0),
        np.concatenate(
            [np.linspace(-3000, -2000, 300), np.linspace(-743, -712, 80), [0.0]]
        ),  # its reciprocals overflow
    ],
)
def test_weights_without_a_tail_have_no_shape(log_weights):
    assert np.isnan(pareto_shape(log_weights))


@pytest.mark.parametrize("seed", range(2))
def test_against_arviz(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own, once a day
        arviz = pytest.importorskip("arviz")
    log_weights = np.random.default_rng(seed).standard_t(4, size=1000)
    _, their_shape = arviz.psislw(log_weights)
    assert pareto_shape(log_weights) == pytest.approx(their_shape, abs=1e-10)
