"""Kernel profiles against automatic differentiation."""

import numpy as np
import oracles
import pytest
from autograd import elementwise_grad

from steinbox.numerics.kernels import IMQ, RBF

PROFILES = {
    "rbf": (RBF(), lambda u: oracles.anp.exp(-u)),
    "imq": (IMQ(), lambda u: (1 + u) ** -0.5),
    "imq-0.8": (IMQ(-0.8), lambda u: (1 + u) ** -0.8),
}


@pytest.mark.parametrize("name", PROFILES)
def test_derivatives_are_those_of_the_profile(name):
    kernel, profile = PROFILES[name]
    u = np.linspace(0, 8, 17)
    slope = elementwise_grad(profile)
    np.testing.assert_allclose(kernel.value(u), profile(u), rtol=1e-14)
    np.testing.assert_allclose(kernel.log_value(u), np.log(profile(u)), atol=1e-14)
    np.testing.assert_allclose(kernel.slope_ratio(u) * kernel.value(u), slope(u), rtol=1e-12)
    np.testing.assert_allclose(kernel.curvature_ratio(u) * kernel.value(u), elementwise_grad(slope)(u), rtol=1e-12)


def test_imq_refuses_an_exponent_that_is_no_kernel():
    with pytest.raises(ValueError, match="between -1 and 0, got 0.5"):
        IMQ(0.5)
