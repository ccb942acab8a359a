"""The targets of other people's benchmarks: their integrals and draws are exact."""

import numpy as np
import part_a
import part_b
import part_c
import part_d
import pytest
from scipy import stats
from scipy.integrate import odeint
from scipy.special import erf
from suites import SUITES, cases_of

# by quadrature elsewhere, or printed in the papers or their code
LOG_EVIDENCE = {
    "mixture": 2.99573,
    "ring": 2.53367,
    "mixture, noise": 2.99573,
    "ring, noise": 2.53367,
    "rosenbrock-gaussian": -6.8223,
    "bimodal": 6.165761,
    "lumpy-2": -2.758887,
    "lumpy-6": -8.239322,
    "lumpy-10": -13.794067,
    "student-2": -7.77138,
    "student-6": -17.61656,
    "student-10": -26.32408,
    "cigar-2": -11.7213,
    "cigar-6": -30.4991,
    "cigar-10": -44.5954,
    "loggamma-5": -2e-5,
    "loggamma-50": -2e-5,
    "funnel-20": -0.00038,
    "rosenbrock-10": -43.10836,
}
EVERY = [
    *("mixture", "ring", "bimodal", "rosenbrock-gaussian", "lotka-volterra"),
    *(f"{family}-{d}" for family in ("lumpy", "student", "cigar") for d in (2, 6, 10)),
    *("loggamma-5", "loggamma-30", "funnel-20", "rosenbrock-10"),
]
PLANE = {"mixture": 15, "ring": 12, "bimodal": 2, "lumpy-2": 6, "student-2": 90}  # half a side that holds it all


def case(name):
    return next(cases[name] for suite in SUITES if name in (cases := cases_of(suite)))


def gradient(log_density, points, steps):
    """By central differences, (n, d)."""
    columns = []
    for j, step in enumerate(steps):
        shift = np.zeros(points.shape[1])
        shift[j] = step
        columns.append((log_density(points + shift) - log_density(points - shift)) / (2 * step))
    return np.column_stack(columns)


@pytest.mark.parametrize("name", LOG_EVIDENCE)
def test_log_evidence_is_the_one_computed_elsewhere(name):
    assert case(name).log_evidence == pytest.approx(LOG_EVIDENCE[name], abs=1e-4)


@pytest.mark.parametrize("name", PLANE)
def test_integral_and_moments_in_the_plane_are_those_of_a_grid(name, rng):
    target = case(name)
    side = np.linspace(-PLANE[name], PLANE[name], 751)
    points = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(target.log_joint(points))
    assert np.log(density.sum() * (side[1] - side[0]) ** 2) == pytest.approx(target.log_evidence, abs=1e-4)
    weights, draws = density / density.sum(), target.sample(40_000, rng)
    mean, cov = weights @ points, np.cov(points.T, aweights=weights, bias=True)
    sd = np.sqrt(np.diag(cov))
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.02 * sd.max())
    assert np.cov(draws.T) == pytest.approx(cov, abs=0.04 * sd.max() ** 2)


@pytest.mark.parametrize("name", EVERY)
def test_draws_satisfy_steins_identities(name, rng):
    """E ∂_j log p = 0 and E (x_i − m_i) ∂_j log p = −1 if i = j, else 0, for draws of p; five standard errors."""
    target = case(name)
    draws = target.sample(1_000 if target.dimension > 10 else 3_000, rng)
    slopes = gradient(target.log_joint, draws, 1e-5 * draws.std(axis=0))
    kept = slice(0, 9 if name == "rosenbrock-10" else target.dimension)  # its last coordinate reaches a wall
    centered = (draws - draws.mean(axis=0))[:, kept] / draws.std(axis=0)[kept]
    slopes = slopes[:, kept] * draws.std(axis=0)[kept]
    products = centered[:, :, None] * slopes[:, None, :]
    errors = products.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(products.mean(axis=0) + np.eye(centered.shape[1])) < 5 * errors)
    assert np.all(np.abs(slopes.mean(axis=0)) < 5 * slopes.std(axis=0) / np.sqrt(len(draws)))


def test_noise_is_added_to_the_same_targets():
    points = part_a.ring_draws(50, np.random.default_rng(0))
    for name in ("mixture", "ring"):
        assert np.array_equal(case(name).log_joint(points), case(f"{name}, noise").log_joint(points))
        assert (case(name).noise, case(f"{name}, noise").noise) == (0.0, 3.0)


def test_published_budgets():
    assert [case(f"lumpy-{d}").printed_budget for d in (2, 6, 10)] == [200, 400, 600]
    assert case("mixture").printed_budget == 2_000
    assert case("ring, noise").printed_budget == 3_000
    assert case("lotka-volterra").printed_budget == 24_000
    for suite in SUITES:
        assert all(each.printed_budget in (*each.budgets, None) for each in cases_of(suite).values())


def test_lumps_are_those_of_the_public_code():
    means, sds, weights = part_c.lumps(2)
    assert means[0] == pytest.approx([0.694829, 0.709365], abs=1e-6)
    assert weights[0] == pytest.approx(0.00724974, abs=1e-8)
    assert set(sds.ravel()) == {0.2, 0.6}
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("dimension", [2, 3])
def test_rosenbrock_is_that_of_a_grid(dimension, rng):
    """In two dimensions, and in three, where the last coordinate integrates out to an error function."""
    chain, side = part_d.Rosenbrock(dimension), np.linspace(-5, 5, 2_001)
    points = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(part_d.Rosenbrock.log_density(points))
    if dimension == 3:
        last = points[:, 1]
        density *= np.exp(-((1 - last) ** 2)) * np.sqrt(np.pi) / 20 * (1 + erf(10 * (5 - last**2)))
    integral = np.trapezoid(np.trapezoid(density.reshape(2_001, 2_001), side, axis=1), side)
    assert chain.log_integral == pytest.approx(np.log(integral), abs=1e-6)
    draws, weights = chain.sample(20_000, rng), density / density.sum()
    assert np.all(np.abs(draws) < 5)
    mean, sd = weights @ points, np.sqrt(np.cov(points.T, aweights=weights).diagonal())
    assert draws[:, :2].mean(axis=0) == pytest.approx(mean, abs=0.03 * sd.max())
    assert draws[:, :2].std(axis=0) == pytest.approx(sd, rel=0.03)


@pytest.mark.parametrize("dimension", [5, 10, 50])
def test_loggamma_marginals_are_those_of_the_paper(dimension, rng):
    """Half of the coordinates from the third on are skewed, to the left; the first two have two modes."""
    draws = case(f"loggamma-{dimension}").sample(40_000, rng)
    skewness = stats.skew(draws, axis=0)
    num_skewed = (dimension + 2) // 2 - 2
    assert skewness[2 : 2 + num_skewed] == pytest.approx(-1.14, abs=0.15)  # that of the logarithm of an exponential
    assert skewness[2 + num_skewed :] == pytest.approx(0.0, abs=0.06)
    assert (draws[:, 1] < 0.5).mean() == pytest.approx(0.5, abs=0.02)
    assert (draws[:, 0] < 0.5).mean() == pytest.approx(0.5, abs=0.02)


def test_funnels_variance_is_the_exponential_of_v(rng):
    draws = 20 * (case("funnel-20").sample(20_000, rng) - 0.5)
    standardized = draws[:, 1:] * np.exp(-0.5 * draws[:, :1])
    assert standardized.var(axis=0) == pytest.approx(1.0, abs=0.06)
    assert np.corrcoef(standardized.T)[0, 1:] == pytest.approx(0.95, abs=0.01)


def test_lotka_volterras_likelihood_is_that_of_another_solver(rng):
    point = np.array([0.55, 0.028, 0.8, 0.024, 34.0, 6.0, 0.25, 0.3])
    points = point * np.exp(0.1 * rng.standard_normal((5, 8)))
    expected = []
    for alpha, beta, gamma, delta, u0, v0, *sds in points:

        def slope(state, t, a=alpha, b=beta, c=gamma, d=delta):
            return [a * state[0] - b * state[0] * state[1], -c * state[1] + d * state[0] * state[1]]

        states = odeint(slope, [u0, v0], np.arange(21), rtol=1e-10, atol=1e-10)
        expected.append(stats.lognorm.logpdf(np.exp(part_b.LOG_COUNTS).T, sds, scale=states).sum())
    assert part_b.lotka_volterra_log_likelihood(points) == pytest.approx(expected, abs=1e-3)


def test_lotka_volterras_reference_agrees_with_a_reciprocal_estimate():
    """E q/p over draws of p is 1/Z for any normalized q; q a normal of the logarithms, narrower than the posterior."""
    target, reference = case("lotka-volterra"), part_b.lotka_volterra_reference()
    assert float(reference["error"]) < 0.002
    draws = reference["draws"][::5].astype(np.float64)
    logs = np.log(draws)
    normal = stats.multivariate_normal(logs.mean(axis=0), 0.6 * np.cov(logs.T))
    log_ratios = normal.logpdf(logs) - logs.sum(axis=1) - target.log_joint(draws) + target.log_evidence
    ratios = np.exp(log_ratios)
    error = ratios.std() / np.sqrt(len(ratios))
    assert error < 0.03
    assert abs(ratios.mean() - 1) < 4 * error
