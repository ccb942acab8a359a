"""Black-box importance weights: the optimum, its certificate, and what it is good for."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.maps.coordinates import Plain
from steinbox.numerics.pairwise import SteinKernel

TARGET = sb.Gaussian([0.0, 0.0], std=1.0)
KERNEL = {"bandwidth": 2.0, "coordinates": Plain()}
SETTINGS = {"regularization": 0.0, **KERNEL}


def test_no_other_weights_are_better_and_the_certificate_says_so(rng):
    x = rng.normal(0.3, 1.5, size=(30, 2))
    best = sb.black_box_weights(x, None, score=TARGET.score, **SETTINGS)
    matrix = SteinKernel(x, TARGET.score(x), np.ones(30), sb.kernels.RBF(), 2.0).matrix()
    square = best.weights @ matrix @ best.weights
    assert best.weights.sum() == pytest.approx(1)
    assert best.weights.min() >= 0
    assert best.discrepancy**2 == pytest.approx(square, rel=1e-9)
    assert best.discrepancy == pytest.approx(float(sb.ksd(x, TARGET.score, weights=best.weights, **KERNEL)), rel=1e-7)
    assert 0 <= best.duality_gap < 1e-8
    rivals = rng.dirichlet(np.full(30, 0.3), size=2000)
    rivals = np.concatenate([rivals, 0.999 * best.weights + 0.001 * rivals, np.eye(30)])
    assert np.einsum("ri,ij,rj->r", rivals, matrix, rivals).min() >= square - best.duality_gap


def test_regularization_adds_to_the_diagonal(rng):
    x = rng.normal(0.3, 1.5, size=(30, 2))
    best = sb.black_box_weights(x, None, score=TARGET.score, regularization=0.1, **KERNEL)
    matrix = SteinKernel(x, TARGET.score(x), np.ones(30), sb.kernels.RBF(), 2.0).matrix()
    assert best.discrepancy**2 == pytest.approx(best.weights @ matrix @ best.weights, rel=1e-9)
    objective = matrix + 0.1 * np.median(np.diag(matrix)) * np.eye(30)
    gradient = objective @ best.weights
    assert best.duality_gap == pytest.approx(2 * (best.weights @ gradient - gradient.min()), abs=1e-12)
    assert best.duality_gap < 1e-8
    with pytest.raises(ValueError, match="regularization to be a finite number of at least 0, got -1"):
        sb.black_box_weights(x, None, score=TARGET.score, regularization=-1)


def test_the_shares_of_modes_stay_near_those_of_the_points():
    modes = sb.GaussianMixture([sb.Gaussian([sign * 2.0, 0.0], std=1.0) for sign in (-1, 1)])
    shares = {0.0: [], 1e-3: []}
    for seed in range(8):
        x = 1.3 * modes.sample(200, np.random.default_rng(seed))
        for regularization, right in shares.items():
            weights = sb.black_box_weights(x, modes.log_prob, regularization=regularization).weights
            right.append(weights[x[:, 0] > 0].sum())
    errors = {key: np.sqrt(np.mean((np.array(right) - 0.5) ** 2)) for key, right in shares.items()}
    assert errors[1e-3] < 0.07
    assert errors[0.0] > 2 * errors[1e-3]


def test_the_gap_bounds_the_error_of_any_weights(rng):
    """2 (vᵀHv − min Hv) at other weights is at least what they lose against the optimum."""
    x = rng.normal(0.3, 1.5, size=(30, 2))
    best = sb.black_box_weights(x, None, score=TARGET.score, **SETTINGS)
    matrix = SteinKernel(x, TARGET.score(x), np.ones(30), sb.kernels.RBF(), 2.0).matrix()
    for v in rng.dirichlet(np.ones(30), size=200):
        gradient = matrix @ v
        assert 2 * (v @ gradient - gradient.min()) >= v @ gradient - best.discrepancy**2


def test_with_the_target_as_surrogate_it_is_the_one_with_the_score(rng):
    x = rng.normal(0.3, 1.5, size=(50, 2))
    by_values = sb.black_box_weights(x, TARGET.log_prob, surrogate=TARGET)
    by_score = sb.black_box_weights(x, None, score=TARGET.score)
    np.testing.assert_allclose(by_values.weights, by_score.weights, atol=1e-6)


def test_they_beat_equal_weights_and_importance_sampling():
    """Draws of a wrong proposal, 50 seeds; squared errors of mean and variance."""
    proposal = sb.Gaussian([0.5, -0.3], std=1.4)
    errors = {"equal": [], "importance": [], "black box": []}
    for seed in range(50):
        x = proposal.sample(150, np.random.default_rng(seed))
        ratio = np.exp(TARGET.log_prob(x) - proposal.log_prob(x))
        candidates = {
            "equal": np.full(150, 1 / 150),
            "importance": ratio / ratio.sum(),
            "black box": sb.black_box_weights(x, TARGET.log_prob).weights,
        }
        for name, weights in candidates.items():
            mean = weights @ x
            errors[name].append([(mean**2).mean(), ((weights @ (x - mean) ** 2 - 1) ** 2).mean()])
    error = {name: np.mean(values, axis=0) for name, values in errors.items()}
    assert np.all(error["black box"] < 0.1 * error["importance"])
    assert np.all(error["black box"] < 0.1 * error["equal"])


def test_points_outside_the_support_get_no_weight(rng):
    x = TARGET.sample(40, rng)
    values = TARGET.log_prob(x)
    values[:10] = -np.inf
    with pytest.warns(UserWarning, match="10 of 40 points lie outside"):
        best = sb.black_box_weights(x, values)
    assert not best.weights[:10].any()
    assert best.weights.shape == (40,)
    assert best.weights.sum() == pytest.approx(1)


def test_the_discrepancy_is_the_one_that_the_tools_measure(rng):
    x = rng.normal(0.3, 1.5, size=(60, 2))
    best = sb.black_box_weights(x, TARGET.log_prob)
    measured = sb.gf_ksd(x, TARGET.log_prob, surrogate=sb.surrogates.PassThrough(), weights=best.weights)
    assert best.discrepancy == pytest.approx(float(measured), rel=1e-6)
    surrogate = sb.Gaussian([0.1, 0.0], std=1.2)
    best = sb.black_box_weights(x, TARGET.log_prob, surrogate=surrogate)
    measured = sb.gf_ksd(x, TARGET.log_prob, surrogate=surrogate, weights=best.weights)
    assert best.discrepancy == pytest.approx(float(measured), rel=1e-6)


def test_copies_share_a_weight_without_harm(rng):
    x = rng.normal(0.3, 1.5, size=(40, 2))
    once = sb.black_box_weights(x, None, score=TARGET.score, **SETTINGS)
    twice = sb.black_box_weights(np.concatenate([x, x]), None, score=TARGET.score, **SETTINGS)
    np.testing.assert_allclose(twice.weights[:40] + twice.weights[40:], once.weights, atol=1e-4)
    assert twice.duality_gap < 1e-6


class Half:
    """A surrogate that vanishes on one side."""

    def log_prob(self, x):
        return np.where(x[:, 0] > 0, TARGET.log_prob(x), -np.inf)

    def score(self, x):
        return TARGET.score(x)


def test_a_point_where_the_surrogate_vanishes_is_not_taken_for_free(rng):
    x = TARGET.sample(60, rng)
    assert not sb.black_box_weights(x, TARGET.log_prob, surrogate=Half()).weights[x[:, 0] <= 0].any()
    assert (x[sb.stein_thin(x, TARGET.log_prob, 10, surrogate=Half()), 0] > 0).all()
    with pytest.warns(UserWarning, match="these cover too little of it"):
        sb.thin(x, TARGET.log_prob, 10, surrogate=Half())
