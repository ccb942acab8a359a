"""Stein discrepancies against automatic differentiation, the paper's identities and Monte Carlo."""

import pickle
import warnings

import numpy as np
import oracles
import pytest

import steinbox as sb
from steinbox.maps.coordinates import Plain
from steinbox.numerics.kernels import IMQ, RBF
from steinbox.numerics.pairwise import SteinKernel

KERNELS = [(RBF(), oracles.rbf), (IMQ(), oracles.imq)]
TARGET = sb.GaussianMixture([sb.Gaussian([-1.0, 0.5], std=1.0), sb.Gaussian([1.5, 0.0], std=0.8)], weights=[1, 2])
SURROGATE = sb.Gaussian([0.3, 0.1], std=1.8)
PLAIN = {"coordinates": Plain(), "bandwidth": 1.7}


def log_target(point):
    squares = [oracles.anp.sum((point - c.mean) ** 2) / c.cov[0, 0] for c in TARGET.components]
    constants = [np.log(w / c.cov[0, 0]) for w, c in zip(TARGET.weights, TARGET.components, strict=True)]
    return oracles.logsumexp(oracles.anp.array([k - 0.5 * s for k, s in zip(constants, squares, strict=True)]))


def log_surrogate(point):
    return -0.5 * oracles.anp.sum((point - SURROGATE.mean) ** 2) / 1.8**2


def dense(log_density, oracle, x, weights, bandwidth=1.7):
    entries = [[oracles.stein_kernel(log_density, oracle, bandwidth, a, b) for b in x] for a in x]
    return weights[:, None] * np.array(entries) * weights


@pytest.fixture
def x(rng):
    return rng.normal(0.2, 0.8, size=(11, 2))


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
def test_the_stein_kernel_is_that_of_the_definition(kernel, oracle, x, rng, monkeypatch):
    monkeypatch.setattr("steinbox.numerics.pairwise.tiles.MAX_TILE_ROWS", 4)
    weights, vectors = rng.random(11), rng.standard_normal((11, 3))
    expected = dense(log_target, oracle, x, weights)
    stein = SteinKernel(x, TARGET.score(x), weights, kernel, 1.7)
    np.testing.assert_allclose(stein.matrix(), expected, atol=1e-12)
    np.testing.assert_allclose(stein.diagonal, np.diag(expected), atol=1e-12)
    np.testing.assert_allclose(stein.column(3), expected[:, 3], atol=1e-12)
    np.testing.assert_allclose(stein.block(slice(2, 9), slice(0, 4)), expected[2:9, :4], atol=1e-12)
    forms = np.einsum("ib,ij,jb->b", vectors, expected, vectors)
    np.testing.assert_allclose(stein.quadratic_forms(vectors), forms, atol=1e-11)


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
def test_both_statistics_of_ksd_are_the_double_sums(kernel, oracle, x, rng):
    expected = dense(log_target, oracle, x, np.ones(11))
    v_statistic = sb.ksd(x, TARGET.score, kernel=kernel, **PLAIN)
    assert v_statistic**2 == pytest.approx(expected.mean(), rel=1e-11)
    u_statistic = sb.ksd(x, TARGET.score(x), kernel=kernel, statistic="u", **PLAIN)
    off_diagonal = (expected.sum() - np.trace(expected)) / 110
    assert np.sign(u_statistic) * u_statistic**2 == pytest.approx(off_diagonal, rel=1e-9)
    weights = rng.random(11)
    weighted = sb.ksd(x, TARGET.score, weights=weights, kernel=kernel, **PLAIN)
    assert weighted**2 == pytest.approx(weights @ expected @ weights / weights.sum() ** 2, rel=1e-11)


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
def test_gf_ksd_is_the_papers_double_sum_with_self_normalised_weights(kernel, oracle, x):
    ratio = np.exp([log_surrogate(row) - log_target(row) for row in x])
    ratio /= ratio.sum()
    expected = dense(log_surrogate, oracle, x, ratio)
    v_statistic = sb.gf_ksd(x, TARGET.log_prob, surrogate=SURROGATE, kernel=kernel, **PLAIN)
    assert v_statistic**2 == pytest.approx(expected.sum(), rel=1e-11)
    u_statistic = sb.gf_ksd(x, TARGET.log_prob(x) + 100, surrogate=SURROGATE, kernel=kernel, statistic="u", **PLAIN)
    off_diagonal = (expected.sum() - np.trace(expected)) * 11 / 10
    assert np.sign(u_statistic) * u_statistic**2 == pytest.approx(off_diagonal, rel=1e-9)
    assert v_statistic.effective_sample_size == pytest.approx(1 / (ratio @ ratio))


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
def test_theorem_2_gf_ksd_is_ksd_under_the_weighted_kernel(kernel, oracle, x):
    """With the true score and the kernel w(x) w(x') k(x, x'), by automatic differentiation."""

    def weighted(a, b, bandwidth):
        return oracles.anp.exp(log_surrogate(a) - log_target(a) + log_surrogate(b) - log_target(b)) * oracle(
            a, b, bandwidth
        )

    scale = np.exp([log_surrogate(row) - log_target(row) for row in x]).sum()
    expected = dense(log_target, weighted, x, np.full(11, 1 / scale)).sum()
    ours = sb.gf_ksd(x, TARGET.log_prob, surrogate=SURROGATE, kernel=kernel, **PLAIN)
    assert ours**2 == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("statistic", ["v", "u"])
def test_with_the_target_as_surrogate_it_is_ksd(statistic, x):
    gradient_free = sb.gf_ksd(x, TARGET.log_prob, surrogate=TARGET, statistic=statistic)
    assert gradient_free == pytest.approx(float(sb.ksd(x, TARGET.score, statistic=statistic)), rel=1e-12)


def test_the_leave_one_out_default_comes_close_to_ksd(rng):
    for draws in (TARGET.sample(400, rng), SURROGATE.sample(400, rng)):
        assert sb.gf_ksd(draws, TARGET.log_prob) == pytest.approx(float(sb.ksd(draws, TARGET.score)), rel=0.05)


class TestExchange:
    """The paper says that with ρ = q the discrepancy of q from p is that of p from q.

    Integration by parts gives E_q[(ρ/p) S_ρᵀf] = ∫ (q ρ / p) (s_p − s_q)ᵀ f. With ρ = q that is −E_p[S_qᵀ(w² f)],
    w = q/p: the order is exchanged, but over the functions w²F instead of F.
    """

    P, Q = sb.Gaussian([0.0], std=1.3), sb.Gaussian([0.6], std=1.0)

    def monte_carlo(self, draws, log_density, score, weights, num_seeds=12, n=1500):
        values = []
        for seed in range(num_seeds):
            x = draws(n, np.random.default_rng(seed))
            stein = SteinKernel(x, score(x), weights(x), RBF(), 1.5)
            values.append((stein.quadratic_forms(np.ones((n, 1)))[0] - stein.diagonal.sum()) / (n * (n - 1)))
        return np.mean(values), np.std(values, ddof=1) / np.sqrt(num_seeds)

    def ratio(self, x, power):
        return np.exp(power * (self.Q.log_prob(x) - self.P.log_prob(x)))

    def test_the_order_is_exchanged_over_the_weighted_functions(self):
        ours, our_error = self.monte_carlo(self.Q.sample, self.Q, self.Q.score, lambda x: self.ratio(x, 1))

        def score_with_weights(x):  # S_q(w² f) = w² (s_q + 2 ∇log w)ᵀ f + w² ∇·f
            return self.Q.score(x) + 2 * (self.Q.score(x) - self.P.score(x))

        exchanged, error = self.monte_carlo(self.P.sample, self.Q, score_with_weights, lambda x: self.ratio(x, 2))
        assert abs(ours - exchanged) < 4 * np.hypot(our_error, error)
        assert ours > 10 * our_error

    def test_over_the_functions_themselves_the_papers_remark_does_not_hold(self):
        ours, our_error = self.monte_carlo(self.Q.sample, self.Q, self.Q.score, lambda x: self.ratio(x, 1))
        plain, error = self.monte_carlo(self.P.sample, self.Q, self.Q.score, lambda x: np.ones(len(x)))
        assert abs(ours - plain) > 10 * np.hypot(our_error, error)


def test_the_weighted_stein_identity_has_mean_zero_under_p_and_only_there(rng):
    """E_p[w(x) S_ρᵀf(x)] = 0 for f = k(·, y) e_1, and not under another density."""
    y, bandwidth = np.array([0.5, -0.5]), 1.7

    def terms(x):
        values = np.exp(-((x - y) ** 2).sum(axis=1) / bandwidth)
        operator = values * (SURROGATE.score(x)[:, 0] - 2 / bandwidth * (x - y)[:, 0])
        return np.exp(SURROGATE.log_prob(x) - TARGET.log_prob(x)) * operator

    def z_score(sample):
        values = terms(sample)
        return values.mean() / (values.std() / np.sqrt(len(values)))

    assert abs(z_score(TARGET.sample(200_000, rng))) < 4
    assert abs(z_score(TARGET.sample(200_000, rng) + 0.3)) > 10


def test_units_do_not_matter_in_whitened_coordinates(rng):
    x = TARGET.sample(50, rng)
    units = np.array([1e2, 1e-2])
    assert sb.ksd(x * units, TARGET.score(x) / units) == pytest.approx(float(sb.ksd(x, TARGET.score)), rel=1e-9)


def test_a_reference_fixes_the_kernel(rng):
    x, reference = TARGET.sample(50, rng), TARGET.sample(300, rng)
    stretched = sb.ksd(3 * x, lambda z: TARGET.score(z), reference=reference)
    affine = sb.coordinates.Whitened().fit(reference)
    bandwidth = sb.bandwidth.Median()(affine.forward(reference))
    z, score = affine.forward(3 * x), affine.push_score(TARGET.score(3 * x))
    assert stretched == pytest.approx(float(sb.ksd(z, score, coordinates=Plain(), bandwidth=bandwidth)), rel=1e-12)


def test_points_outside_the_support_are_left_out_and_reported(rng):
    x = TARGET.sample(60, rng)
    values = TARGET.log_prob(x)
    values[[3, 7]] = -np.inf
    inside = np.isfinite(values)
    with pytest.warns(UserWarning, match="2 of 60 points lie outside the support"):
        distance = sb.gf_ksd(x, values, surrogate=SURROGATE)
    assert distance.num_outside == 2
    assert distance == pytest.approx(float(sb.gf_ksd(x[inside], values[inside], surrogate=SURROGATE)))
    weights = inside.astype(float)  # weight zero: not part of the sample, nothing to report
    assert sb.gf_ksd(x, values, surrogate=SURROGATE, weights=weights) == pytest.approx(float(distance))


def test_a_point_where_the_surrogate_vanishes_says_nothing(rng):
    class Halved:
        def log_prob(self, x):
            return np.where(x[:, 0] > -1, SURROGATE.log_prob(x), -np.inf)

        def score(self, x):
            return SURROGATE.score(x)

    x = TARGET.sample(60, rng)
    kept = x[:, 0] > -1
    assert not kept.all()
    ours = sb.gf_ksd(x, TARGET.log_prob, surrogate=Halved(), **PLAIN)
    assert ours == pytest.approx(float(sb.gf_ksd(x[kept], TARGET.log_prob, surrogate=SURROGATE, **PLAIN)), rel=1e-12)


def test_it_warns_in_words_when_the_weights_degenerate(rng):
    x = rng.standard_normal((100, 2))
    with pytest.warns(UserWarning, match="spans .* nats, and the effective sample size is .* of 100"):
        distance = sb.gf_ksd(x, -0.5 * (x**2).sum(axis=1), surrogate=sb.Gaussian([6.0, 6.0], std=0.5))
    assert distance.effective_sample_size < 10
    assert "Warning" in repr(distance)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.gf_ksd(x, -0.5 * (x**2).sum(axis=1), surrogate=sb.Gaussian([0.0, 0.0], std=1.2))


def test_a_discrepancy_is_a_float_that_survives_pickling(rng):
    distance = sb.gf_ksd(TARGET.sample(30, rng), TARGET.log_prob, surrogate=SURROGATE)
    assert isinstance(distance, float)
    assert f"{distance:.3f}" == f"{distance.value:.3f}"
    copy = pickle.loads(pickle.dumps(distance))
    assert (copy, copy.effective_sample_size) == (distance, distance.effective_sample_size)


POINTS = np.random.default_rng(0).standard_normal((6, 2))


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (
            (np.where(np.arange(12).reshape(6, 2) == 5, np.nan, POINTS), np.zeros(6)),
            {},
            "numbers in points; row 2",
        ),
        ((POINTS[:1], np.zeros(1)), {}, "at least two rows, got .1, 2."),
        ((POINTS, np.zeros(5)), {}, r"shape \(6,\) for 6 points, got \(5,\)"),
        ((POINTS, lambda x: 0.0), {}, "called once, with all points as rows"),
        ((POINTS, np.full(6, -np.inf)), {}, "all points are outside the support"),
        ((POINTS, np.full(6, np.nan)), {}, "finite or -inf, got nan at row 0"),
        ((POINTS, np.zeros(6)), {"weights": np.zeros(6)}, "not all 0"),
        ((POINTS, np.zeros(6)), {"statistic": "w"}, "'v' or 'u', got 'w'"),
        ((POINTS, np.r_[np.full(5, -np.inf), 0.0]), {}, "at least two points inside the support"),
        ((np.ones((6, 2)), np.zeros(6)), {"surrogate": SURROGATE}, "got 6 copies of one"),
        ((np.eye(2)[[0, 1, 0, 1]], np.zeros(4)), {}, "at least 3 different points for the default surrogate, got 2"),
    ],
)
def test_nonsense_is_refused_in_words(arguments, settings, message):
    with pytest.raises(ValueError, match=message):
        sb.gf_ksd(*arguments, **settings)


def test_copies_do_not_shrink_the_bandwidth(rng):
    x = TARGET.sample(20, rng)
    repeated, weights = (
        np.concatenate([x, np.repeat(x[:1], 60, axis=0)]),
        np.r_[1 / 61, np.ones(19), np.full(60, 1 / 61)],
    )
    settings = {"surrogate": SURROGATE, "coordinates": sb.coordinates.Plain()}
    once = sb.gf_ksd(x, TARGET.log_prob, **settings)
    assert sb.gf_ksd(repeated, TARGET.log_prob, weights=weights, **settings) == pytest.approx(float(once))


def test_a_function_cannot_change_the_users_points(rng):
    def careless(x):
        x -= 3.0
        return -0.5 * (x**2).sum(axis=1)

    x = rng.normal(3.0, size=(50, 2))
    before = x.copy()
    sb.gf_ksd(x, careless)
    np.testing.assert_array_equal(x, before)


def test_points_of_no_weight_change_nothing_but_the_scale_of_the_kernel(rng):
    x = TARGET.sample(50, rng)
    tiny = np.where(np.arange(50) < 30, 1.0, 1e-300)
    zero = np.where(np.arange(50) < 30, 1.0, 0.0)
    assert sb.gf_ksd(x, TARGET.log_prob, weights=zero) == pytest.approx(
        float(sb.gf_ksd(x, TARGET.log_prob, weights=tiny)), rel=1e-12
    )


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"reference": np.ones((5, 3))}, ValueError, "reference of dimension 2, as the points, got 3"),
        ({"surrogate": sb.surrogates.LeaveOneOut}, TypeError, "got the class LeaveOneOut; write LeaveOneOut"),
        ({"kernel": RBF}, TypeError, "expected kernel to be an object, got the class RBF"),
        ({"kernel": "rbf"}, TypeError, "expected kernel to be something like RBF"),
        ({"coordinates": "whitened"}, TypeError, "expected coordinates to be something like Whitened"),
        ({"bandwidth": lambda x: -1.0}, ValueError, "positive bandwidth, got -1.0"),
        ({"weights": np.r_[np.ones(5), -1.0]}, ValueError, "at least 0, got -1.0 at row 5"),
        ({"log_prob": np.ma.masked_array(np.zeros(6), mask=np.arange(6) < 2)}, ValueError, "without a mask"),
        ({"log_prob": np.zeros(6, dtype=complex)}, ValueError, "real numbers in log_prob"),
    ],
)
def test_wrong_settings_are_refused_in_words(settings, error, message):
    arguments = {"log_prob": np.zeros(6)} | settings
    with pytest.raises(error, match=message):
        sb.gf_ksd(POINTS, **arguments)


def test_a_custom_sample_surrogate_is_checked():
    class SampleSurrogate:
        def evaluate_sample(self, points, log_prob):
            return log_prob[:, None], -points

    with pytest.raises(ValueError, match="log_prob to have shape .6,., got .6, 1."):
        sb.gf_ksd(POINTS, np.zeros(6), surrogate=SampleSurrogate())


@pytest.mark.parametrize(
    ("log_prob", "score", "message"),
    [
        (lambda x: np.full(len(x), -np.inf), lambda x: -x, "all weights ρ/p are zero"),
        (lambda x: np.full(len(x), np.nan), lambda x: -x, "below [+]inf and a finite score"),
        (lambda x: np.zeros(len(x)), lambda x: x * np.nan, "below [+]inf and a finite score"),
        (lambda x: np.zeros(3), lambda x: -x, "surrogate's log_prob to have shape"),
    ],
)
def test_a_surrogate_that_makes_no_sense_is_refused_in_words(log_prob, score, message):
    class Own:
        def log_prob(self, x):
            return log_prob(x)

        def score(self, x):
            return score(x)

    with pytest.raises(ValueError, match=message):
        sb.gf_ksd(POINTS, np.zeros(6), surrogate=Own())


def test_a_bad_score_is_refused_in_words():
    with pytest.raises(ValueError, match=r"shape \(6, 2\) for 6 points, got \(6,\)"):
        sb.ksd(POINTS, np.zeros(6))
    with pytest.raises(ValueError, match="finite score, got .* at row 4"):
        sb.ksd(POINTS, np.where(np.arange(12).reshape(6, 2) == 8, np.inf, -POINTS))
