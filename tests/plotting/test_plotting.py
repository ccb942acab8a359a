"""Pictures, by the data in their artists."""

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats
from scipy.ndimage import gaussian_filter

import steinbox as sb

TARGET = sb.targets.Banana()


@pytest.fixture(scope="module")
def result():
    return sb.sample(
        TARGET.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, names=["a", "b"], max_evals=2_000, seed=0
    )


@pytest.fixture(scope="module")
def moved():
    return sb.sample(
        TARGET.log_prob,
        sb.Gaussian([0, 0], std=3),
        method=sb.AnnealedGFSVGD(),
        vectorized=True,
        num_particles=30,
        max_evals=900,
        record=4,
        seed=0,
    )


def widened(result, number):
    """With so many parameters, all of them the first."""
    return dataclasses.replace(
        result,
        names=tuple(f"p{k}" for k in range(number)),
        particles=np.tile(result.particles[:, :1], (1, number)),
        pool=np.tile(result.pool[:, :1], (1, number)),
    )


# -- corner ------------------------------------------------------------------------------------------------------------


def test_a_corner_shows_every_pair_of_particles(result):
    first, pair, second = sb.plotting.corner(result).axes
    dots = pair.collections[-1].get_offsets()
    np.testing.assert_allclose(dots, result.particles[result.weights > 0])
    assert (pair.get_xlabel(), pair.get_ylabel(), first.get_xlabel(), second.get_xlabel()) == ("a", "b", "", "b")


def test_histograms_are_of_the_weighted_pool(result):
    axes = sb.plotting.corner(result).axes[0]
    heights = [bar.get_height() for bar in axes.patches]
    inside = (result.pool[:, 0] >= axes.get_xlim()[0]) & (result.pool[:, 0] <= axes.get_xlim()[1])
    assert sum(heights) == pytest.approx(result.pool_weights[inside].sum())
    assert sum(heights) > 0.99


def test_truth_is_a_line_in_every_panel_of_its_parameter(result):
    first, pair, second = sb.plotting.corner(result, truth={"b": 1.5}).axes
    assert [line.get_ydata()[0] for line in pair.lines] == [1.5]
    assert 1.5 in [line.get_xdata()[0] for line in second.lines]
    assert all(line.get_xdata()[0] != 1.5 for line in first.lines)


def test_a_corner_of_fifty_parameters_shows_the_first_eight_or_those_asked_for(result):
    many = widened(result, 50)
    figure = sb.plotting.corner(many)
    assert len(figure.axes) == 8 * 9 // 2
    assert figure.get_suptitle().startswith("8 of 50 parameters")
    assert len(sb.plotting.corner(many, names=["p3", "p40"]).axes) == 3


def test_what_is_drawn_goes_into_the_given_figure(result):
    figure = Figure()
    assert sb.plotting.corner(result, fig=figure) is figure
    assert sb.plotting.run(result, fig=figure) is figure
    axes = Figure().subplots()
    with pytest.raises(ValueError, match="sample again with record=20"):
        sb.plotting.flow(result, ax=axes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ["c"]}, "expected names among a, b; got 'c'"),
        ({"names": "a"}, r"expected a sequence of names, got the text 'a'; write names=\['a'\]"),
        ({"truth": [1.0]}, r"expected truth to have 2 values or be a mapping, got shape \(1,\)"),
        ({"truth": {"c": 1.0}}, "expected names among a, b; got 'c'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(result, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sb.plotting.corner(result, **arguments)


def test_contours_hold_the_mass_they_say():
    grid = np.linspace(-5, 5, 201)
    density = np.exp(-0.5 * (grid[:, None] ** 2 + grid**2))
    levels = sb.plotting.canvas.find_levels(density, (0.9, 0.5))
    assert levels[:2] == sorted(levels[:2])
    for level, mass in zip(levels, (0.9, 0.5), strict=False):
        assert density[density >= level].sum() / density.sum() == pytest.approx(mass, abs=0.01)


# -- marginals and the run ---------------------------------------------------------------------------------------------


def test_marginals_have_unit_area_and_the_prior_beside_them(result):
    prior = stats.norm(0, 3)
    left, right = sb.plotting.marginals(result, prior={"a": prior}).axes
    area = sum(bar.get_height() * bar.get_width() for bar in left.patches)
    assert area == pytest.approx(1.0, abs=1e-6)
    (line,) = [line for line in left.lines if line.get_label() == "prior"]
    np.testing.assert_allclose(line.get_ydata(), prior.pdf(line.get_xdata()))
    assert not [line for line in right.lines if line.get_label() == "prior"]


def test_marginals_of_fifty_parameters(result):
    assert len(sb.plotting.marginals(widened(result, 50)).axes) == 50


def test_a_run_shows_its_trace_against_evaluations(result):
    panels = {axes.get_title(): axes for axes in sb.plotting.run(result).axes}
    x, y = panels["effective sample size"].lines[0].get_data()
    np.testing.assert_array_equal(x, result.trace["num_evals"])
    np.testing.assert_array_equal(y, result.trace["effective_sample_size"])
    spent = sum(bar.get_width() for bar in panels["evaluations by proposer"].patches)
    assert spent == result.trace["num_evals"][-1]
    assert panels["log evidence ± 2 errors"].lines[0].get_ydata()[-1] == result.trace["log_evidence"][-1]


def test_failures_are_a_panel():
    def log_prob(x):
        return np.nan if x[0] > 1 else -float(x @ x)

    failing = sb.sample(
        log_prob, sb.Gaussian([0.0], std=1.0), max_evals=300, num_particles=20, max_failure_rate=1.0, seed=0
    )
    panels = {axes.get_title(): axes for axes in sb.plotting.run(failing).axes}
    assert [bar.get_width() for bar in panels["failed evaluations"].patches] == [failing.num_failures]


@pytest.mark.parametrize("method", [sb.AnnealedGFSVGD(), sb.baselines.SMC(), sb.baselines.RandomWalkMetropolis()])
def test_every_kind_of_run_has_a_picture(method):
    other = sb.sample(
        TARGET.log_prob,
        sb.Gaussian([0, 0], std=3),
        method=method,
        vectorized=True,
        num_particles=20,
        max_evals=1_000,
        seed=0,
    )
    assert len(sb.plotting.run(other).axes) >= 2
    assert len(sb.plotting.corner(other).axes) == 3


# -- coverage ----------------------------------------------------------------------------------------------------------


def test_coverage_is_drawn_as_shares(result):
    known = sb.Coverage(num_climbs=40, num_finds=5, num_since_last=12, num_places=2_000, num_open=900)
    axes = Figure().subplots()
    assert sb.plotting.coverage(dataclasses.replace(result, coverage=known), ax=axes) is axes
    bars = [(bar.get_y() + bar.get_height() / 2, bar.get_x(), bar.get_width()) for bar in axes.patches]
    np.testing.assert_allclose(bars, [(0, 0, 0.55), (0, 0.55, 0.45), (1, 0, 0.875), (1, 0.875, 0.125)])
    _limit, line, dot = axes.lines
    assert list(line.get_xdata()) == [known.unseen, known.upper]
    assert list(dot.get_xdata()) == [known.unseen]
    words = [text.get_text() for text in axes.texts]
    assert words[:4] == ["1,100 explained", "900 open", "35 found none", "5 found a mode"]
    assert words[4] == f"{100 * known.unseen:.3g}%, at most {100 * known.upper:.3g}%"


def test_coverage_of_a_run_without_climbs(result, moved):
    nothing = sb.plotting.coverage(dataclasses.replace(result, coverage=sb.Coverage(0, 0, 0)))
    assert [text.get_text() for text in nothing.texts] == ["none", "none", "50%, at most 100%"]
    with pytest.raises(ValueError, match="AnnealedGFSVGD does not"):
        sb.plotting.coverage(moved)


# -- the way -----------------------------------------------------------------------------------------------------------


def test_a_record_has_the_first_and_the_last_particles(moved):
    record = moved.record
    assert record.is_flow
    assert record.num_evals.tolist() == [30, 300, 600, 900]
    np.testing.assert_array_equal(record.particles[-1], moved.particles)
    np.testing.assert_array_equal(record.log_prob[-1], moved.log_prob)
    assert np.linalg.norm(record.particles[0] - record.particles[-1]) > 1


def test_a_record_is_kept_when_a_result_is_saved(moved, tmp_path):
    again = sb.Result.load(moved.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.record.particles, moved.record.particles)
    assert again.record.is_flow


def test_a_record_is_the_same_after_a_resume(tmp_path):
    def run(**more):
        return sb.sample(
            TARGET.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, max_evals=1_500, record=4, seed=0, **more
        )

    whole, path = run(), tmp_path / "run.ckpt"
    run(checkpoint=path, callback=lambda iteration: iteration.index == 5)
    resumed = run(checkpoint=path)
    np.testing.assert_array_equal(resumed.record.particles, whole.record.particles)
    np.testing.assert_array_equal(resumed.record.num_evals, whole.record.num_evals)
    assert not whole.record.is_flow


def test_a_record_is_in_the_users_units():
    bounded = sb.sample(
        lambda x: 2 * np.log(x[:, 0]) - x[:, 0],
        sb.Gaussian([2.0], std=1.0),
        bounds=[(0, None)],
        vectorized=True,
        num_particles=20,
        max_evals=400,
        record=2,
        seed=0,
    )
    assert (bounded.record.particles > 0).all()


def test_fewer_than_two_moments_are_refused():
    with pytest.raises(ValueError, match="record"):
        sb.sample(TARGET.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, record=1)


def test_paths_lead_from_the_first_to_the_last_particles(moved):
    axes = sb.plotting.flow(moved, log_prob=TARGET.log_prob)
    assert len(axes.lines) == 30
    for number, line in enumerate(axes.lines):
        np.testing.assert_array_equal(line.get_xydata(), moved.record.particles[:, number])
    arrows = axes.collections[-1]
    np.testing.assert_allclose(
        np.column_stack([arrows.U, arrows.V]), moved.record.particles[-1] - moved.record.particles[-2]
    )


@pytest.mark.parametrize("ending", ["gif", "html"])
def test_a_film_is_written(moved, tmp_path, ending):
    path = sb.plotting.animate(moved, tmp_path / f"film.{ending}")
    assert path.stat().st_size > 5_000
    if ending == "gif":
        from PIL import Image

        with Image.open(path) as film:
            assert film.n_frames == 4


def test_a_film_of_another_kind_is_refused(moved, tmp_path):
    with pytest.raises(ValueError, match=r"ends in .gif, .mp4 or .html, got 'film.avi'"):
        sb.plotting.animate(moved, tmp_path / "film.avi")


def test_regions_hold_what_they_say_however_thin_the_points_lie(rng):
    """Points along a line one cell wide: the smoothed density is three times as wide as they."""
    x = rng.standard_normal(20_000)
    counted, *_ = np.histogram2d(x, 0.01 * rng.standard_normal(20_000), bins=50, range=[(-4, 4), (-2, 2)])
    density = gaussian_filter(counted, 1.5)
    *levels, _ = sb.plotting.canvas.find_levels(density, (0.9, 0.5), counted)
    shares = [counted[density >= level].sum() / counted.sum() for level in levels]
    np.testing.assert_allclose(shares, [0.9, 0.5], atol=0.05)
