"""Slow and obvious versions of the package's formulas, written for automatic differentiation or as double loops."""

import autograd.numpy as anp
import numpy as np
from autograd import grad, jacobian


def rbf(x, y, bandwidth):
    return anp.exp(-anp.sum((x - y) ** 2) / bandwidth)


def imq(x, y, bandwidth):
    return (1 + anp.sum((x - y) ** 2) / bandwidth) ** -0.5


def stein_direction(x, score, weights, kernel, bandwidth, repulsion=1.0):
    """Σ_j w_j [s_j k(x_j, x_i) + c ∇_{x_j} k(x_j, x_i)], one pair at a time, ∇k by automatic differentiation."""
    gradient = grad(kernel)
    direction = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            force = score[j] * kernel(x[j], x[i], bandwidth) + repulsion * gradient(x[j], x[i], bandwidth)
            direction[i] += weights[j] * force
    return direction


def rowwise_gradient(log_prob, x):
    """The gradient of a function of one point, at every row."""
    return np.array([grad(log_prob)(row) for row in x])


def logsumexp(values):
    largest = anp.max(values)
    return largest + anp.log(anp.sum(anp.exp(values - largest)))


def stein_kernel(log_density, kernel, bandwidth, x, y):
    """S'ᵀ(S k(x, y)): the Stein operator of a log-density applied to both arguments, by automatic differentiation."""
    score = grad(log_density)

    def operator_on_first(second):
        return score(x) * kernel(x, second, bandwidth) + grad(kernel)(x, second, bandwidth)

    return score(y) @ operator_on_first(y) + np.trace(jacobian(operator_on_first)(y))
