"""Bounded parameters: the right density, never a bound itself, and only the user's units in sight."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import steinbox as sb
from steinbox.maps.bounds import Between, Bounds, Free, OneSided, Periodic, as_bounds
from steinbox.run.problem import FreeInitial

PARAMETERS = [Free(), OneSided(2.0, 1.0), OneSided(-1.0, -1.0), Between(-1.0, 3.0), Periodic(0.0, 360.0)]
ALL = Bounds(tuple(PARAMETERS))
FREE = np.random.default_rng(0).normal(size=(40, 6))


def numerical_slope(function, z, step=1e-6):
    """Central differences of a function of rows, (n, m)."""
    columns = []
    for k in range(z.shape[1]):
        shift = np.zeros(z.shape[1])
        shift[k] = step
        columns.append((function(z + shift) - function(z - shift)) / (2 * step))
    return np.column_stack(columns)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: type(parameter).__name__)
def test_slopes_are_those_of_the_functions(parameter):
    z = FREE[:, : parameter.num_free] + 0.5
    scale = np.abs(parameter.slope(z)).max()
    np.testing.assert_allclose(parameter.slope(z), numerical_slope(parameter.forward, z), atol=1e-6 * scale)
    np.testing.assert_allclose(parameter.log_det_slope(z), numerical_slope(parameter.log_det, z), atol=1e-6)
    if parameter.num_free == 1:
        np.testing.assert_allclose(parameter.log_det(z), np.log(np.abs(parameter.slope(z)[:, 0])), rtol=1e-12)


@pytest.mark.parametrize(
    ("entry", "marginal"),
    [
        ((0, None), stats.gamma(2)),
        ((None, 0), stats.norm(0, 1)),
        ((-1, 2), stats.uniform(-1, 3)),
        ((-np.inf, np.inf), stats.norm(1, 2)),
        ((0, np.inf), stats.halfnorm()),
    ],
)
def test_the_free_density_has_the_same_mass(entry, marginal):
    parameter = as_bounds([entry, (0, 1)]).parameters[0]

    def density(z):
        z = np.array([[z]])
        return float(np.exp(marginal.logpdf(parameter.forward(z)) + parameter.log_det(z))[0])

    mass = integrate.quad(density, -40, 40, limit=500)[0]
    assert mass == pytest.approx(0.5 if entry == (None, 0) else 1.0, abs=1e-6)


def test_the_plane_of_an_angle_has_the_density_of_the_angle():
    """Draws of the plane under the free density are draws of the angle, whatever the radius."""
    angle = Periodic(-np.pi, np.pi)
    rng = np.random.default_rng(0)
    x = stats.vonmises(2).rvs(100_000, random_state=rng)
    z = angle.inverse(x, rng)
    np.testing.assert_allclose(angle.forward(z), x, atol=1e-12)
    density = np.exp(2 * np.cos(angle.forward(z)) + angle.log_det(z)) / (2 * np.pi * np.i0(2))
    box = (np.abs(z - [1, 0.5]) < 0.1).all(axis=1)  # the share of draws in a small square
    assert box.mean() == pytest.approx(0.04 * density[box].mean(), rel=0.1)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=6, max_size=6))
def test_no_free_point_leads_to_a_bound(z):
    x = ALL.forward(np.array([z]))
    finite = np.isfinite(x)
    assert finite.all()
    assert ALL.inside(x).all()
    assert x[0, 1] > 2
    assert x[0, 2] < -1
    assert -1 < x[0, 3] < 3
    assert 0 <= x[0, 4] < 360


@given(
    st.tuples(
        st.floats(-50, 50),
        st.floats(2, 1e6, exclude_min=True),
        st.floats(-1e6, -1, exclude_max=True),
        st.floats(-1, 3, exclude_min=True, exclude_max=True),
        st.floats(0, 360, exclude_max=True),
    )
)
def test_there_and_back(x):
    points = np.array([x])
    again = ALL.forward(ALL.inverse(points, np.random.default_rng(0)))
    np.testing.assert_allclose(again[0, :4], points[0, :4], rtol=1e-9, atol=1e-9)
    turn = abs(again[0, 4] - points[0, 4])
    assert min(turn, 360 - turn) < 1e-9


def test_the_score_of_the_free_density():
    def log_free(z):
        x = ALL.forward(z)
        return -0.5 * (x**2).sum(axis=1) + np.cos(x[:, 4]) + ALL.log_det(z)

    def score(x):
        slope = -x
        slope[:, 4] -= np.sin(x[:, 4])
        return slope

    exact = ALL.pull_back_score(FREE, score(ALL.forward(FREE)))
    numeric = numerical_slope(log_free, FREE, step=1e-7)
    np.testing.assert_allclose(exact, numeric, rtol=1e-4, atol=1e-4 * np.abs(exact).max())


# -- in a run ----------------------------------------------------------------------------------------------------------

TARGET = [stats.gamma(3), stats.halfnorm(), stats.beta(2, 5)]
BOUNDS = [(0, None), (0, np.inf), (0, 1)]
START = [stats.expon(scale=3), stats.expon(), stats.uniform()]


def log_prob(x):
    """Exact for the first three; it insists on its bounds."""
    assert (x > 0).all()
    assert x[2] < 1
    return 2 * np.log(x[0]) - x[0] - 0.5 * x[1] ** 2 + np.log(x[2]) + 4 * np.log1p(-x[2])


def score(x):
    return np.array([2 / x[0] - 1, -x[1], 1 / x[2] - 4 / (1 - x[2])])


def run(**settings):
    defaults = {"bounds": BOUNDS, "num_particles": 100, "max_evals": 5_000, "seed": 0, "score": score}
    return sb.sample(log_prob, **{"initial": START} | defaults | settings)


def worst_error(result):
    """Of means and standard deviations, in standard deviations."""
    scales = np.array([marginal.std() for marginal in TARGET])
    means = (result.mean - [marginal.mean() for marginal in TARGET]) / scales
    return np.abs([means, np.sqrt(np.diag(result.cov)) / scales - 1]).max()


@pytest.mark.parametrize(
    "method", [sb.AnnealedGFSVGD(), sb.GFSVGD(), sb.AnnealedSVGD(), sb.SVGD()], ids=lambda method: type(method).__name__
)
def test_stein_samplers_find_a_bounded_target(method):
    result = run(method=method)
    assert result.num_failures == 0
    assert worst_error(result) < 0.3, "over 8 seeds at most 0.25"


def test_smc_finds_a_bounded_target():
    result = run(method=sb.baselines.SMC(), num_particles=1000, max_evals=30_000)
    assert worst_error(result) < 0.15
    for k, marginal in enumerate(TARGET):
        assert stats.kstest(result.particles[:, k], marginal.cdf).pvalue > 1e-3


def test_without_the_volume_it_is_another_density(monkeypatch):
    monkeypatch.setattr(Bounds, "log_det", lambda bounds, z: np.zeros(len(z)))
    assert worst_error(run(method=sb.baselines.SMC(), num_particles=1000, max_evals=30_000)) > 0.5


def test_only_the_user_s_units_are_seen():
    seen = []
    result = run(max_evals=500, callback=lambda iteration: seen.append(iteration))
    np.testing.assert_allclose(result.log_prob, [log_prob(x) for x in result.particles], rtol=1e-12)
    np.testing.assert_array_equal(seen[-1].particles, result.particles)
    assert (result.archive.points > 0).all()
    np.testing.assert_array_equal(result.archive.log_prob, [log_prob(x) for x in result.archive.points])


def test_bounds_are_saved_and_judged(tmp_path):
    result = run(num_particles=200, max_evals=5_000)
    again = sb.Result.load(result.save(tmp_path / "run.npz"))
    assert again.bounds == result.bounds == as_bounds(BOUNDS)
    assert again.diagnostics().goodness_of_fit.p_value > 0.05
    unbounded = dataclasses.replace(result, bounds=None)
    assert unbounded.diagnostics().goodness_of_fit.p_value < 0.05, "the half-normal does not fall to zero at its edge"


def test_an_angle_with_its_mode_at_the_seam():
    """Over six seeds the mean cosine is 0.02 to 0.07 too low."""
    result = sb.sample(
        lambda x: 3 * np.cos(np.radians(x[0])), None, bounds=[sb.Periodic(0, 360)], max_evals=3_000, seed=0
    )
    angles = np.radians(result.particles[:, 0])
    assert result.particles.min() >= 0
    assert result.particles.max() < 360
    assert np.cos(angles).mean() == pytest.approx(
        float(stats.vonmises(3).expect(np.cos)), abs=0.1
    )  # over 6 seeds 0.02 to 0.07
    assert np.sin(angles).mean() == pytest.approx(0, abs=0.1)
    assert 0.35 < (angles < np.pi).mean() < 0.65


def test_a_start_around_the_seam_is_wrapped_not_cut():
    """The target has a standard deviation of 31 around 0, the start one of 60: a sampler that does nothing fails."""
    settings = {"bounds": [sb.Periodic(0, 360)], "num_particles": 100, "max_evals": 2_000, "seed": 0}
    for initial in (sb.Gaussian([0.0], std=60.0), sb.Gaussian([-360.0], std=60.0)):
        result = sb.sample(lambda x: 4 * np.cos(np.radians(x[0])), initial, **settings)
        assert 0.35 < (result.particles > 180).mean() < 0.65
        mean = float(result.mean[0])
        assert min(mean, 360 - mean) < 10, "the mean direction, not the mean of the numbers"
        assert float(np.sqrt(result.cov[0, 0])) == pytest.approx(31, abs=8)
    array = np.linspace(-60, 360, 50)[:, None]
    assert sb.sample(lambda x: 0.0, array, bounds=[sb.Periodic(0, 360)], max_evals=200).particles.max() < 360


def test_the_wrapped_start_is_the_density_of_its_draws(rng):
    bounds = as_bounds([sb.Periodic(0.0, 4.0), (0, None)])
    start = FreeInitial(sb.Gaussian([0.5, 1.0], std=[1.0, 0.5]), bounds)
    x = bounds.forward(start.sample(200_000, rng))[:, 0]
    z = bounds.inverse(np.column_stack([[0.2, 3.8], [1.0, 1.0]]), rng)
    density = np.exp(start.log_prob(z) - bounds.log_det(z))
    shares = [np.mean((x > low) & (x < low + 0.2)) for low in (0.1, 3.7)]
    assert shares[0] / shares[1] == pytest.approx(density[0] / density[1], rel=0.05)
    np.testing.assert_allclose(start.score(z), numerical_slope(start.log_prob, z), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bound", [(-1000, 0), (0, 1000)])
def test_a_density_that_rises_to_a_bound_of_zero(bound):
    """Gamma(0.3) at zero, from either side: no particle is thrown onto the bound."""

    def log_prob(x):
        return -0.7 * np.log(abs(x[0])) - abs(x[0]) / 100

    method = sb.baselines.SMC()
    result = sb.sample(log_prob, None, bounds=[bound], method=method, num_particles=300, max_evals=15_000, seed=0)
    distances = np.abs(result.particles[:, 0])
    assert len(np.unique(distances)) > 250
    assert stats.kstest(distances, stats.gamma(0.3, scale=100).cdf).pvalue > 1e-3


def test_a_picture_stays_inside_the_bounds():
    plotting = pytest.importorskip("steinbox.plotting")

    def rows(x):
        return 2 * np.log(x[:, 0]) - x[:, 0] - 0.5 * x[:, 1] ** 2

    result = sb.sample(
        rows, sb.Gaussian([2, 0], std=2), bounds=[(0, None), None], vectorized=True, max_evals=1_000, seed=0
    )
    assert plotting.corner(result, log_prob=rows).axes


def test_no_initial_is_uniform_between_finite_bounds():
    result = sb.sample(lambda x: 0.0, None, bounds=[(0, 1), (5, 6)], num_particles=50, max_evals=1_000, seed=0)
    assert result.particles.shape == (50, 2)
    np.testing.assert_allclose(result.mean, [0.5, 5.5], atol=0.1)


def test_particles_as_a_start():
    start = np.column_stack([marginal.rvs(50, random_state=0) for marginal in START])
    assert run(initial=start, num_particles=None, max_evals=500).particles.shape == (50, 3)
    start[7, 2] = 1.0
    with pytest.raises(ValueError, match=r"1 rows of `initial` are not, the first is row 7: \[.*1.0\]"):
        run(initial=start, num_particles=None)


def test_a_checkpoint_with_bounds(tmp_path):
    whole = run(max_evals=1_000)

    def interrupt(iteration):
        if iteration.index == 4:
            raise KeyboardInterrupt

    run(max_evals=1_000, checkpoint=tmp_path / "run.ckpt", callback=interrupt)
    np.testing.assert_array_equal(run(max_evals=1_000, checkpoint=tmp_path / "run.ckpt").particles, whole.particles)
    with pytest.raises(sb.CheckpointError, match="bounds was"):
        run(max_evals=1_000, checkpoint=tmp_path / "run.ckpt", bounds=[(0, 50), (0, None), (0, 1)])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"bounds": [(0, 1)]}, ValueError, "expected 3 bounds, one per parameter of `initial`, got 1"),
        ({"bounds": [(1, 0), None, None]}, ValueError, r"low < high, got \(1, 0\)"),
        ({"bounds": [(0, 0), None, None]}, ValueError, "low < high"),
        ({"bounds": [(0, np.nan), None, None]}, ValueError, "low < high"),
        ({"bounds": [(0,), None, None]}, TypeError, r"expected bounds of the form \(low, high\)"),
        ({"bounds": ["01", None, 3]}, TypeError, "expected bounds of the form"),
        ({"bounds": [sb.Periodic(0, np.inf), None, None]}, ValueError, "both finite"),
        ({"bounds": [(-1e308, 1e308), None, None]}, ValueError, "less than 1e300 apart"),
        ({"bounds": [(0, 5e-324), None, None]}, ValueError, "numbers between them"),
        ({"bounds": "positive"}, TypeError, "expected bounds to be a list"),
        ({"bounds": [(100, 101), (0, None), (0, 1)]}, ValueError, "lie inside the bounds; choose an `initial`"),
        (
            {"bounds": ([0, 0, 0], [9, 9, 9])},
            TypeError,
            r"If these are \(lows, highs\), write list\(zip\(lows, highs\)\)",
        ),
        ({"initial": None}, ValueError, "expected `initial`, since not all bounds are finite"),
        ({"initial": None, "bounds": None}, ValueError, "expected `initial` to be"),
    ],
)
def test_nonsense_is_refused_in_words(settings, error, message):
    with pytest.raises(error, match=message):
        run(**settings)


@pytest.mark.parametrize(
    "kind", [list, np.array, lambda rows: tuple(map(np.array, rows))], ids=["list", "array", "scipy"]
)
def test_bounds_that_make_sense_both_ways_are_refused(kind):
    message = (
        r"can be read as a \(low, high\) for each parameter or as \(lows, highs\): write .*\(0.*, 5.*\), \(1.*, 10"
    )
    with pytest.raises(ValueError, match=message):
        as_bounds(kind([[0.0, 1.0], [5.0, 10.0]]))


def test_bounds_that_make_sense_one_way_are_taken():
    expected = Bounds((Between(0.0, 1.0), Between(-5.0, 10.0)))
    for bounds in ([(0, 1), (-5, 10)], [[0, 1], [-5, 10]], np.array([[0, 1], [-5, 10]])):
        assert as_bounds(bounds) == expected
    assert as_bounds([(0, 1), (5, 10)]) == Bounds((Between(0.0, 1.0), Between(5.0, 10.0)))
    with pytest.raises(ValueError, match=r"low < high, got \[0, -5\]. If these are \(lows, highs\), write list"):
        as_bounds([[0, -5], [1, 10]])


def test_bounds_that_were_saved_are_read_as_they_were():
    bounds = as_bounds([(0, 1), (5, 10)])
    assert Bounds.from_json(json.loads(json.dumps(bounds.to_json()))) == bounds
