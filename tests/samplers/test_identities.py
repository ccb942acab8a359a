"""The paper's theorems and the update's symmetries, to rounding."""

import numpy as np
import oracles
import pytest
from autograd import grad
from scipy.stats import ortho_group

import steinbox as sb
from steinbox.evaluation import Evaluation
from steinbox.maps.coordinates import Plain
from steinbox.numerics.kernels import IMQ, RBF
from steinbox.numerics.optimizers import Plain as PlainSteps
from steinbox.numerics.weights import normalize
from steinbox.samplers.stein.direction import stein_direction

KERNELS = [(RBF(), oracles.rbf), (IMQ(), oracles.imq)]
TARGET = sb.GaussianMixture([sb.Gaussian([-1.0, 0.5], std=1.0), sb.Gaussian([1.5, 0.0], cov=[[1, 0.4], [0.4, 0.7]])])
SURROGATE = sb.Gaussian([0.3, 0.1], std=1.8)
SETTINGS = {"bandwidth": 1.3, "coordinates": Plain(), "optimizer": PlainSteps(1.0), "num_iterations": 1}


@pytest.fixture
def x(rng):
    return rng.standard_normal((12, 2))


def one_move(sampler, x, log_prob, score=None):
    """The displacement of one tell of a sampler, from values alone: no loop, no user function."""
    rng = np.random.default_rng(0)
    problem = sb.Problem(SURROGATE, x, max_evals=10 * len(x))
    sampler = sampler.plan(problem)
    state = sampler.start(problem, rng)
    evaluation = Evaluation(log_prob, ~np.isfinite(log_prob), score)
    return sampler.tell(state, sampler.ask(state, rng), evaluation, rng)[0].next_particles - x


def true_log_prob(point):
    """The target's log-density, written for automatic differentiation."""
    terms = [
        -0.5 * oracles.anp.dot(point - c.mean, oracles.anp.dot(np.linalg.inv(c.cov), point - c.mean))
        - 0.5 * np.linalg.slogdet(c.cov)[1]
        for c in TARGET.components
    ]
    return oracles.logsumexp(oracles.anp.array(terms))


def surrogate_log_prob(point):
    return -0.5 * oracles.anp.sum((point - SURROGATE.mean) ** 2) / 1.8**2


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
def test_gf_svgd_with_the_target_as_surrogate_is_svgd(kernel, oracle, x):
    gradient_free = one_move(sb.GFSVGD(surrogate=TARGET, kernel=kernel, **SETTINGS), x, TARGET.log_prob(x))
    svgd = one_move(sb.SVGD(kernel=kernel, **SETTINGS), x, TARGET.log_prob(x), TARGET.score(x))
    np.testing.assert_allclose(gradient_free, svgd, atol=1e-13)
    np.testing.assert_allclose(
        svgd, oracles.stein_direction(x, TARGET.score(x), np.full(12, 1 / 12), oracle, 1.3), atol=1e-12
    )


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
def test_theorem_2_gf_svgd_is_svgd_under_the_weighted_kernel(kernel, oracle, x):
    """SVGD with the true score and the kernel w(x) w(x') k(x, x'), by automatic differentiation, is w(x_i) Z φ(x_i)."""

    def weight(point):
        return oracles.anp.exp(surrogate_log_prob(point) - true_log_prob(point))

    def weighted_kernel(a, b, bandwidth):
        return weight(a) * weight(b) * oracle(a, b, bandwidth)

    weights = np.array([weight(row) for row in x])
    score = oracles.rowwise_gradient(true_log_prob, x)
    expected = oracles.stein_direction(x, score, np.ones(12), weighted_kernel, 1.3)
    ours = one_move(sb.GFSVGD(surrogate=SURROGATE, kernel=kernel, **SETTINGS), x, TARGET.log_prob(x))
    np.testing.assert_allclose(weights[:, None] * weights.sum() * ours, expected, atol=1e-11)


def test_theorem_1_the_weighted_operator_of_rho_is_the_operator_of_p(rng):
    """w(x) S_ρᵀφ(x) = S_pᵀ(w(x) φ(x)) at random points, for a smooth φ, by automatic differentiation."""
    matrix = rng.standard_normal((2, 2))

    def field(point):
        return oracles.anp.tanh(oracles.anp.dot(matrix, point))

    def weight(point):
        return oracles.anp.exp(surrogate_log_prob(point) - true_log_prob(point))

    def operator(log_density, function, point):
        divergence = sum(grad(lambda p, k=k: function(p)[k])(point)[k] for k in range(2))
        return grad(log_density)(point) @ function(point) + divergence

    for point in rng.standard_normal((5, 2)):
        left = weight(point) * operator(surrogate_log_prob, field, point)
        right = operator(true_log_prob, lambda p: weight(p) * field(p), point)
        assert left == pytest.approx(right, rel=1e-11)


def test_the_flat_surrogate_leaves_only_repulsion(x):
    """The paper's update with 1/p: no driving term, weights 1/p."""
    log_prob = TARGET.log_prob(x)
    ours = one_move(sb.GFSVGD(surrogate=sb.surrogates.Flat(), **SETTINGS), x, log_prob)
    expected = oracles.stein_direction(x, np.zeros_like(x), normalize(-log_prob), oracles.rbf, 1.3)
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_annealing_from_a_constant_weights_the_repulsion_by_the_inverse_temperature(x):
    sampler = sb.AnnealedSVGD(
        base=sb.surrogates.Flat(), schedule=sb.Schedule(fraction=1.0, power=1.0), **(SETTINGS | {"num_iterations": 4})
    )
    score = TARGET.score(x)
    expected = oracles.stein_direction(x, score, np.full(12, 1 / 12), oracles.rbf, 1.3, repulsion=1 / 0.25)
    np.testing.assert_allclose(one_move(sampler, x, TARGET.log_prob(x), score), expected, atol=1e-12)


def test_annealed_svgd_follows_the_score_of_the_path(x):
    sampler = sb.AnnealedSVGD(schedule=sb.Schedule(fraction=1.0, power=1.0), **(SETTINGS | {"num_iterations": 4}))
    path_score = 0.75 * SURROGATE.score(x) + 0.25 * TARGET.score(x)
    expected = oracles.stein_direction(x, path_score, np.full(12, 1 / 12), oracles.rbf, 1.3)
    np.testing.assert_allclose(one_move(sampler, x, TARGET.log_prob(x), TARGET.score(x)), expected, atol=1e-12)


@pytest.mark.parametrize("exponent", [0.0, 1 / 3, 1.0])
def test_a_surrogate_with_the_gradient_is_a_power_of_the_target(exponent, x):
    """ρ = p^β: its score is β times the target's, its weights are ρ/p."""
    weights = normalize((exponent - 1) * TARGET.log_prob(x))
    expected = oracles.stein_direction(x, exponent * TARGET.score(x), weights, oracles.rbf, 1.3)
    move = one_move(sb.SVGD(exponent=exponent, **SETTINGS), x, TARGET.log_prob(x), TARGET.score(x))
    np.testing.assert_allclose(move, expected, atol=1e-12)


def test_a_blend_is_a_sum_of_two_directions(x):
    log_prob, score = TARGET.log_prob(x), TARGET.score(x)
    flat = one_move(sb.GFSVGD(surrogate=sb.surrogates.Flat(), **SETTINGS), x, log_prob)
    for method, one in ((sb.SVGD, {}), (sb.GFSVGD, {"surrogate": SURROGATE})):
        alone, blend = (one_move(method(flat_share=each, **one, **SETTINGS), x, log_prob, score) for each in (0, 0.3))
        np.testing.assert_allclose(blend, 0.7 * alone + 0.3 * flat, atol=1e-13)


def test_algorithm_3_with_the_kernel_curve_as_a_double_loop(x):
    """Every line of Algorithm 3, from the values of p alone."""
    sampler = sb.AnnealedGFSVGD(
        surrogate=sb.surrogates.KernelCurve(bandwidth=0.9),
        schedule=sb.Schedule(fraction=1.0, power=1.0),
        **(SETTINGS | {"num_iterations": 4}),
    )
    log_path = 0.75 * SURROGATE.log_prob(x) + 0.25 * TARGET.log_prob(x)

    def log_curve(point):
        return oracles.anp.log(sum(np.exp(v) * oracles.rbf(y, point, 0.9) for v, y in zip(log_path, x, strict=True)))

    weights = np.exp(np.array([log_curve(row) for row in x]) - log_path)
    expected = oracles.stein_direction(
        x, oracles.rowwise_gradient(log_curve, x), weights / weights.sum(), oracles.rbf, 1.3
    )
    np.testing.assert_allclose(one_move(sampler, x, TARGET.log_prob(x)), expected, atol=1e-12)


METHODS = {
    "svgd": lambda **settings: sb.SVGD(**settings),
    "annealed": lambda **settings: sb.AnnealedSVGD(**settings),
    "gaussian": lambda **settings: sb.GFSVGD(surrogate=SURROGATE, **settings),
    "curve": lambda **settings: sb.AnnealedGFSVGD(surrogate=sb.surrogates.KernelCurve(), **settings),
    "interpolant": lambda **settings: sb.AnnealedGFSVGD(**settings),
    "tempered": lambda **settings: sb.SVGD(exponent=0.4, **settings),
    "blend": lambda **settings: sb.SVGD(flat_share=0.3, **settings),
    "calibrated": lambda **settings: sb.GFSVGD(surrogate=SURROGATE, flat_share=None, **settings),
    "matrix": lambda **settings: sb.GFSVGD(surrogate=SURROGATE, weight=[[2.0, 0.3], [0.3, 1.0]], **settings),
    "weighted steps": lambda **settings: sb.GFSVGD(surrogate=SURROGATE, weighted_steps=True, **settings),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_constant_added_to_log_p_changes_nothing(name, x):
    sampler, log_prob, score = METHODS[name](**SETTINGS), TARGET.log_prob(x), TARGET.score(x)
    rounding = 1e-6 if name == "interpolant" else 1e-11  # the interpolant's matrix has a condition of 1e6
    np.testing.assert_allclose(
        one_move(sampler, x, log_prob + 1234.5, score), one_move(sampler, x, log_prob, score), atol=rounding
    )


def test_a_constant_added_to_log_rho_changes_nothing(x):
    class Shifted:
        def log_prob(self, x):
            return SURROGATE.log_prob(x) - 987.0

        score = staticmethod(SURROGATE.score)

    move, shifted = (
        one_move(sb.GFSVGD(surrogate=rho, **SETTINGS), x, TARGET.log_prob(x)) for rho in (SURROGATE, Shifted())
    )
    np.testing.assert_allclose(shifted, move, atol=1e-11)


@pytest.mark.parametrize("name", METHODS)
def test_permuting_the_particles_permutes_the_move(name, x, rng):
    sampler, order = METHODS[name](**SETTINGS), rng.permutation(len(x))
    move = one_move(sampler, x, TARGET.log_prob(x), TARGET.score(x))
    permuted = one_move(sampler, x[order], TARGET.log_prob(x[order]), TARGET.score(x[order]))
    np.testing.assert_allclose(permuted, move[order], atol=1e-8)


@pytest.mark.parametrize("kernel", [RBF(), IMQ()])
def test_translation_and_rotation_commute_with_the_direction(kernel, rng):
    x, score = rng.standard_normal((2, 30, 5))
    weights = normalize(rng.standard_normal(30))
    rotation, shift = ortho_group.rvs(5, random_state=rng), 10 * rng.standard_normal(5)
    direction = stein_direction(x, score, weights, kernel, 4.0)
    moved = stein_direction(x @ rotation.T + shift, score @ rotation.T, weights, kernel, 4.0)
    np.testing.assert_allclose(moved, direction @ rotation.T, atol=1e-11)


@pytest.mark.parametrize("name", METHODS)
def test_one_bad_particle_pushes_nobody_and_is_still_pushed(name, x):
    """A failed particle changes the others' move only by its absence, whatever its score holds."""
    sampler = METHODS[name](**SETTINGS)
    log_prob, score = TARGET.log_prob(x), TARGET.score(x)
    log_prob[4], score[4] = -np.inf, np.nan
    move = one_move(sampler, x, log_prob, score)
    assert np.isfinite(move).all()
    assert (np.abs(move[4]).max() > 1e-6) == (name != "weighted steps")  # whose own weight is zero
    if name in ("svgd", "gaussian"):
        others = np.delete(np.arange(len(x)), 4)
        without = one_move(sampler, x[others], log_prob[others], score[others])
        np.testing.assert_allclose(move[others], without, atol=1e-12)
