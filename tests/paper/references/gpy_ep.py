"""Expectation propagation by GPy, a code of other authors, under our likelihood: writes gpy_ep.json beside itself.

Run it in an environment of its own; the tests read only what it wrote::

    python3 -m venv gpy-environment
    gpy-environment/bin/pip install GPy==1.15.0
    OPENBLAS_NUM_THREADS=1 gpy-environment/bin/python tests/paper/references/gpy_ep.py

For every problem the file holds the features, the labels, and for a few θ the mean and the variances of the
approximate posterior of the latent values, and the logarithm of expectation propagation's estimate of p(Y | θ). The
logistic function is all that GPy is given, which has no such link: kernel, updates (one site after the other, in
random order, where ours move all at once), moments (by adaptive quadrature) and the marginal likelihood are its own.
"""

import json
from pathlib import Path

import GPy
import numpy as np
from scipy.special import expit

OUTPUT = Path(__file__).with_suffix(".json")
RIDGE = 1e-3


class Logistic(GPy.likelihoods.Likelihood):
    """The likelihood expit(y f) of a label y of −1 or 1."""

    def __init__(self):
        super().__init__(GPy.likelihoods.link_functions.Identity(), "logistic")

    def pdf_link(self, f, y, Y_metadata=None):
        return float(expit(y[0] * f))


def problems():
    """Names, features, labels and θ: noisy labels in two dimensions, one-sided ones without noise in three."""
    rng = np.random.default_rng(2018)
    plane, space = rng.standard_normal((30, 2)).round(3), rng.standard_normal((40, 3)).round(3)
    noisy = np.sign(plane[:, 0] * plane[:, 1] + 0.5 * rng.standard_normal(30))
    yield "noisy", plane, noisy, [[0.0, 0.0], [-1.5, 1.0], [2.0, 3.0]]
    yield "one-sided", space, np.sign(space[:, 0] + 1), [[0.2, 0.5, 1.0], [-1.0, 3.0, 0.0], [1.0, 5.0, 4.0]]


def approximate(features, labels, theta):
    """What GPy finds at one θ, when the sites no longer move (by 1e-12, root mean square)."""
    dimension = features.shape[1]
    smooth = GPy.kern.RBF(dimension, variance=1.0, lengthscale=np.exp(theta), ARD=True)
    ep = GPy.inference.latent_function_inference.EP(epsilon=1e-24)
    kernel = smooth + GPy.kern.White(dimension, variance=RIDGE)
    model = GPy.core.GP(features, labels[:, None], kernel, Logistic(), inference_method=ep)
    return {
        "theta": theta,
        "mean": model.posterior.mean.ravel().tolist(),
        "variances": np.diag(model.posterior.covariance).tolist(),
        "log_marginal": float(model.log_likelihood()),
    }


def main():
    """Write the file."""
    np.random.seed(0)  # noqa: NPY002 (GPy's order of updates comes from here)
    found = {
        name: {
            "features": features.tolist(),
            "labels": labels.tolist(),
            "approximations": [approximate(features, labels, theta) for theta in thetas],
        }
        for name, features, labels, thetas in problems()
    }
    OUTPUT.write_text(json.dumps({"gpy": GPy.__version__, "ridge": RIDGE, "problems": found}) + "\n")


if __name__ == "__main__":
    main()
