"""Climbs as a proposer: where they begin, what ends them, and what they say of modes not seen."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import steinbox as sb
from steinbox.numerics.climb import start_climb
from steinbox.samplers.adaptive import DEFAULT_PROPOSERS, Climbs, Tuning
from steinbox.samplers.adaptive.ascents import Ascent, ClimbsMemory, settle
from steinbox.samplers.adaptive.known import Known, Summit
from steinbox.samplers.adaptive.places import choose_maxima, choose_open, spread_around
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive

MIN_EXCESS = 5.0
ORIGIN, UNIT = np.zeros(2), np.eye(2)
NEAR, FAR = sb.Gaussian([0.0, 0.0], std=1.0), sb.Gaussian([20.0, 0.0], std=1.0)


def summit_of(gaussian):
    return Summit(gaussian.mean, float(gaussian.log_prob(gaussian.mean[None])[0]), gaussian.cov, is_mode=True)


def archive_of(points, log_prob):
    initial = sb.Gaussian(ORIGIN, std=10.0)
    source = Source("initial", None, len(points))
    return WeightedArchive.empty(2).extend(np.asarray(points, dtype=float), np.asarray(log_prob), (source,), initial)


def known_of(*summits, points=((0.0, 0.0),), log_prob=(0.0,), density=None):
    return Known(summits, ORIGIN, np.ones(2), archive_of(points, log_prob), density)


# -- what is known -----------------------------------------------------------------------------------------------------


def test_a_summit_explains_the_points_of_its_gaussian_however_far_out(rng):
    points = 30 * rng.standard_normal((50, 2))
    log_prob = NEAR.log_prob(points)
    known = known_of(summit_of(NEAR), points=points, log_prob=log_prob)
    np.testing.assert_allclose(known.excess(points, log_prob), 0, atol=1e-9)
    np.testing.assert_allclose(known.unexplained_part(points, log_prob), 0, atol=1e-9)
    assert not known.is_open(points, log_prob, MIN_EXCESS).any()


def test_points_on_the_slopes_of_another_mode_are_open(rng):
    """They are hundreds of nats below its top, and denser than the known one explains."""
    both = sb.GaussianMixture([NEAR, FAR])
    points = 30 * rng.standard_normal((200, 2))
    log_prob = both.log_prob(points)
    known = known_of(summit_of(NEAR), points=points, log_prob=log_prob)
    is_open = known.is_open(points, log_prob, MIN_EXCESS)
    belongs_to_far = FAR.log_prob(points) - NEAR.log_prob(points) > 10 - 0.06 * FAR.log_prob(points)
    assert belongs_to_far.sum() > 50
    assert is_open[belongs_to_far].all()
    assert not is_open[NEAR.log_prob(points) > FAR.log_prob(points)].any()
    parts = known.unexplained_part(points, log_prob)
    assert (parts[belongs_to_far] > 0.02).all()
    assert (parts < 1).all()


def test_points_far_less_dense_than_the_fit_says_are_open_too(rng):
    points = 30 * rng.standard_normal((50, 2))
    wide = sb.GaussianMixture([sb.Gaussian(ORIGIN, std=20.0)])
    log_prob = NEAR.log_prob(points)
    known = known_of(points=points, log_prob=log_prob, density=wide)
    is_far = np.linalg.norm(points, axis=1) > 10
    assert known.is_open(points, log_prob, MIN_EXCESS)[is_far].all()
    assert (known.unexplained_part(points, log_prob)[is_far] < 0).all()


def test_outside_the_support_nothing_is_open():
    points, log_prob = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, -np.inf])
    known = known_of(summit_of(NEAR), points=points, log_prob=log_prob)
    assert not known.is_open(points, log_prob, MIN_EXCESS)[1]


def test_of_what_nothing_is_known_all_is_unexplained():
    points, log_prob = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, -9.0])
    assert (known_of(points=points, log_prob=log_prob).unexplained_part(points, log_prob) == 1).all()


def view_of(archive, tempering=0.5):
    return SimpleNamespace(archive=archive, fit=None, tempering=tempering, tuning=Tuning())


def memory_of(*summits, **more):
    return ClimbsMemory(ORIGIN, np.ones(2), np.empty((0, 2)), summits=summits, **more)


def scattered_over_three_modes(rng):
    """Draws far outside three modes, of which the last is the widest."""
    modes = sb.GaussianMixture([NEAR, FAR, sb.Gaussian([0.0, 30.0], std=2.0)])
    points = 30 * rng.standard_normal((600, 2))
    return modes, archive_of(points, modes.log_prob(points))


def test_climbs_begin_at_maxima_of_the_topograph_one_or_more_for_every_mode(rng):
    modes, archive = scattered_over_three_modes(rng)
    starts = choose_maxima(view_of(archive), memory_of(), 12)
    assert set(modes.responsibilities(starts).argmax(axis=1)) == {0, 1, 2}
    assert (np.diff(modes.log_prob(starts)) <= 0).all()


def test_no_climb_begins_twice_or_beside_another_or_at_what_is_known(rng):
    _, archive = scattered_over_three_modes(rng)
    starts = choose_maxima(view_of(archive), memory_of(), 12)
    memory = replace(memory_of(), starts=starts[:2])
    assert not (choose_maxima(view_of(archive), memory, 12)[:, None] == starts[None, :2]).all(axis=2).any()
    top = archive_of([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]], NEAR.log_prob(np.array([[0, 0], [0.1, 0], [0, 0.1]])))
    assert len(choose_maxima(view_of(top), memory_of(), 3)) == 1
    assert len(choose_maxima(view_of(top), memory_of(summit_of(NEAR)), 3)) == 0


def test_the_least_explained_maxima_come_first(rng):
    """What is known is a Gaussian with lighter tails than the mode has: all is open, its own tails the least."""
    wider = sb.GaussianMixture([sb.Gaussian(ORIGIN, std=1.1), FAR])
    points = 30 * rng.standard_normal((600, 2))
    starts = choose_maxima(view_of(archive_of(points, wider.log_prob(points))), memory_of(summit_of(NEAR)), 12)
    owners = wider.responsibilities(starts).argmax(axis=1)
    assert set(owners) == {0, 1}
    assert (np.diff(owners) <= 0).all()


def test_other_climbs_begin_at_any_scattered_draws_that_are_not_explained(rng):
    modes, archive = scattered_over_three_modes(rng)
    starts = choose_open(view_of(archive), memory_of(summit_of(NEAR)), 50, rng)
    owners = modes.responsibilities(starts).argmax(axis=1)
    assert len(np.unique(starts, axis=0)) == 50
    assert set(owners) == {1, 2}
    assert len(choose_open(view_of(archive), memory_of(), 5, rng)) == 5, "nothing is known yet"
    explained = archive_of(archive.points, NEAR.log_prob(archive.points))
    assert len(choose_open(view_of(explained), memory_of(summit_of(NEAR)), 5, rng)) == 0


def test_balls_around_a_mode_are_of_all_sizes_from_that_of_the_start_to_its_own():
    mode = Summit(np.array([0.1, 0.2]), 0.0, np.diag([0.05**2, 0.001**2]), is_mode=True)
    balls = spread_around([mode], np.array([10.0, 20.0]), np.array([100.0, 1000.0]))
    np.testing.assert_allclose([each.mean for each in balls.components], 4 * [[20.0, 220.0]])
    stds = np.sqrt([np.diag(each.cov) for each in balls.components])
    np.testing.assert_allclose(stds, np.outer([1, 1 / 2, 1 / 4, 1 / 8], [100.0, 1000.0]))


def test_some_ball_reaches_a_narrower_mode_of_which_the_start_shows_nothing(rng):
    """Two modes ten apart, a start fifty wide: no draw of the start is in the basin of the narrower one."""
    wide, narrow = sb.Gaussian(np.zeros(5), std=1.0), sb.Gaussian([10.0, 0, 0, 0, 0], std=0.6)

    def in_the_basin(points):
        return np.sum(narrow.log_prob(points) > wide.log_prob(points))

    start = sb.Gaussian(np.full(5, 50.0), std=50.0)
    mode = Summit(np.full(5, -1.0), 0.0, np.eye(5) / 50**2, is_mode=True)
    balls = spread_around([mode], start.mean, np.full(5, 50.0))
    assert in_the_basin(start.sample(20_000, rng)) == 0
    assert in_the_basin(balls.sample(20_000, rng)) > 60


# -- where climbs end --------------------------------------------------------------------------------------------------


def climb_to_the_top(gaussian, start):
    climb = start_climb(np.asarray(start, dtype=float))
    while not climb.is_done:
        climb = climb.tell(gaussian.log_prob(climb.ask()))
    return climb


def settled(target, climb, *summits, num_rounds=1, num_scans=0):
    """The memory after a look at the climb, and at the way to the nearest mode if it asks for that."""
    memory = memory_of(*summits, ascents=(Ascent(climb),), num_rounds=num_rounds, num_scans=num_scans)
    view = view_of(archive_of([[5.0, 5.0]], [-50.0]))
    memory = settle(view, memory)
    while memory.ascents and memory.ascents[0].crossing is not None:
        ascent = memory.ascents[0]
        memory = settle(view, replace(memory, ascents=(ascent.tell(target.log_prob(ascent.ask())),)))
    return memory


BOTH = sb.GaussianMixture([NEAR, FAR])


def test_a_climb_to_an_unknown_mode_is_a_find():
    memory = settled(BOTH, climb_to_the_top(BOTH, [18.0, 3.0]), summit_of(NEAR))
    assert memory.finds == (True,)
    assert [each.is_mode for each in memory.summits] == [True, True]
    np.testing.assert_allclose(memory.summits[1].covariance, UNIT, atol=1e-3)


def test_a_find_leaves_one_scan_to_be_made():
    memory = settled(BOTH, climb_to_the_top(BOTH, [18.0, 3.0]), summit_of(NEAR), num_scans=2)
    assert memory.num_scans == 1
    memory = settled(NEAR, climb_to_the_top(NEAR, [0.5, 0.0]), summit_of(NEAR), num_scans=2)
    assert memory.finds == (False,)
    assert memory.num_scans == 2


def test_a_climb_that_takes_far_longer_than_usual_ends_where_it_is():
    start = np.array([18.0, 3.0])
    under_way = replace(start_climb(start), num_evals=10_000, value=float(BOTH.log_prob(start[None])[0]))
    memory = memory_of(summit_of(NEAR), ascents=(Ascent(under_way),), num_rounds=1, costs=(50,))
    view = view_of(archive_of([[5.0, 5.0]], [-50.0]))
    assert settle(view, memory).ascents[0].climb.is_done
    assert not settle(view, replace(memory, costs=(5_000,))).ascents[0].climb.is_done


def test_a_top_without_a_valley_before_the_nearest_mode_is_no_find():
    """A climb that came to rest on the slope of a known mode: it is drawn from, and no mode is compared with it."""
    slope = climb_to_the_top(BOTH, [3.0, 3.0]).stop()
    slope = replace(slope, point=np.array([3.0, 3.0]), value=float(BOTH.log_prob(np.array([[3.0, 3.0]]))[0]))
    memory = settled(BOTH, slope, summit_of(NEAR))
    assert memory.finds == (False,)
    assert [each.is_mode for each in memory.summits] == [True, False]
    assert memory.modes == memory.summits[:1]


def test_two_climbs_of_a_round_that_end_at_the_same_mode_are_one_find():
    climb = climb_to_the_top(BOTH, [18.0, 3.0])
    memory = memory_of(summit_of(NEAR), ascents=(Ascent(climb), Ascent(climb)), num_rounds=1)
    view = view_of(archive_of([[5.0, 5.0]], [-50.0]))
    memory = settle(view, memory)
    while memory.ascents:
        ascents = tuple(each.tell(BOTH.log_prob(each.ask())) for each in memory.ascents)
        memory = settle(view, replace(memory, ascents=ascents))
    assert memory.finds == (True, False)


def climb_until(target, start, log_prob):
    climb = start_climb(np.asarray(start, dtype=float))
    while climb.num_steps == 0 or climb.value < log_prob:
        climb = climb.tell(target.log_prob(climb.ask()))
    return climb


def test_a_climb_ends_as_high_as_draws_of_a_known_mode_if_no_valley_is_in_between():
    climb = climb_until(BOTH, [3.0, 3.0], -5.0)
    memory = settled(BOTH, climb, summit_of(NEAR))
    assert not climb.is_done
    assert memory.ascents == ()
    assert memory.finds == (False,)
    assert len(memory.summits) == 1


def test_a_climb_goes_on_behind_a_valley():
    climb = climb_until(BOTH, [19.0, 0.5], -5.0)
    memory = settled(BOTH, climb, summit_of(NEAR))
    assert [each.climb for each in memory.ascents] == [climb]
    assert memory.ascents[0].lowest < -30


def test_a_climb_goes_on_far_out_even_if_what_is_known_explains_it():
    """Two modes may be as dense as each other there."""
    climb = climb_until(NEAR, [300.0, 300.0], -np.inf)
    assert climb.value < -10
    memory = settled(NEAR, climb, summit_of(NEAR))
    assert [each.climb for each in memory.ascents] == [climb]
    assert memory.ascents[0].crossing is None


def test_the_first_climb_goes_to_the_top_and_is_a_mode_but_no_find():
    memory = settled(NEAR, climb_to_the_top(NEAR, [3.0, 3.0]), num_rounds=0)
    assert memory.finds == ()
    assert [each.is_mode for each in memory.summits] == [True]


def test_a_mode_without_mass_is_no_find():
    spike = sb.Gaussian([20.0, 0.0], std=1e-4)

    class Light:
        def log_prob(self, points):
            return np.logaddexp(spike.log_prob(points) - 30, NEAR.log_prob(points))

    memory = settled(Light(), climb_to_the_top(Light(), [20.001, 0.0]), summit_of(NEAR))
    assert memory.finds == (False,)
    assert len(memory.summits) == 2


# -- the whole ---------------------------------------------------------------------------------------------------------


def four_modes(dimension):
    rng = np.random.default_rng(1)
    means = 4.0 * rng.standard_normal((4, dimension))
    components = [sb.Gaussian(mean, std=std) for mean, std in zip(means, [1.0, 0.8, 0.7, 0.6], strict=True)]
    return sb.GaussianMixture(components, [0.4, 0.3, 0.2, 0.1])


def shares_of(result, modes):
    return modes.responsibilities(result.pool).T @ result.pool_weights


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_modes_of_which_draws_of_the_start_show_the_slopes_are_found(seed):
    """Four modes in eight dimensions; without climbs two or three of them are missing with these seeds."""
    modes = four_modes(8)
    start = sb.Gaussian(np.full(8, 3.0), std=9.0)
    result = sb.sample(modes.log_prob, start, vectorized=True, num_particles=100, max_evals=8_000, seed=seed)
    np.testing.assert_allclose(shares_of(result, modes), modes.weights, atol=0.05)
    assert result.coverage.num_finds > 0
    assert result.coverage.unseen < 0.05


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_narrow_modes_are_found_that_no_draw_of_the_start_shows(seed):
    """The widest of three modes hides the others from afar; they have a third of the mass."""
    components = [sb.Gaussian(np.eye(5)[k] * 9.0, std=std) for k, std in enumerate([1.0, 0.6, 0.7])]
    modes = sb.GaussianMixture(components, [0.65, 0.2, 0.15])
    start = sb.Gaussian(np.full(5, 50.0), std=50.0)
    result = sb.sample(modes.log_prob, start, vectorized=True, num_particles=100, max_evals=8_000, seed=seed)
    np.testing.assert_allclose(shares_of(result, modes), modes.weights, atol=0.05)


def test_without_climbs_modes_are_missing():
    modes = four_modes(8)
    start = sb.Gaussian(np.full(8, 3.0), std=9.0)
    proposers = tuple(each for each in DEFAULT_PROPOSERS if not isinstance(each, Climbs))
    method = sb.AdaptiveImportanceSampling(proposers=proposers)
    result = sb.sample(
        modes.log_prob, start, vectorized=True, method=method, num_particles=100, max_evals=8_000, seed=0
    )
    assert shares_of(result, modes).min() < 0.01


def test_a_spike_on_top_of_a_wide_mode_is_found():
    """No draw comes near it; the first climb does."""
    both = sb.GaussianMixture([sb.Gaussian(np.zeros(8), std=1.0), sb.Gaussian(np.zeros(8), std=0.01)])
    start = sb.Gaussian(np.zeros(8), std=3.0)
    result = sb.sample(both.log_prob, start, vectorized=True, num_particles=100, max_evals=5_000, seed=0)
    assert abs(result.log_evidence) < 0.1


def test_a_narrow_regression_with_unknown_noise_is_arrived_at(rng):
    """A thousand times narrower than the start, and correlated."""
    rows = rng.standard_normal((60, 5)) @ (np.eye(5) + 2 * rng.standard_normal((5, 5)))
    outcome = rows @ rng.standard_normal(5) * 100 + rng.standard_normal(60)

    def log_prob(x):
        squares = ((outcome - x[:, :-1] @ rows.T) ** 2).sum(axis=1)
        return -60 * x[:, -1] - 0.5 * squares * np.exp(-2 * np.clip(x[:, -1], -300, None))

    start = sb.Gaussian(np.zeros(6), std=[200.0] * 5 + [3.0])
    result = sb.sample(log_prob, start, vectorized=True, num_particles=100, max_evals=5_000, seed=0)
    estimate = np.linalg.lstsq(rows, outcome)[0]
    scale = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    assert (np.abs(result.mean[:-1] - estimate) < scale).all()
    assert result.warnings == ()


def test_a_memory_says_what_it_knows_when_saved():
    from steinbox.common.serialization import pack, unpack

    memory = settled(BOTH, climb_to_the_top(BOTH, [18.0, 3.0]), summit_of(NEAR))
    memory = replace(memory, ascents=(Ascent(start_climb(ORIGIN)),))
    arrays = {}
    again = unpack(pack(memory, arrays), arrays)
    assert again.finds == memory.finds
    np.testing.assert_array_equal(again.ascents[0].climb.ask(), memory.ascents[0].climb.ask())


def test_a_valley_along_a_curve_that_the_fit_follows_leads_to_no_other_mode():
    """The straight way between two places on a ring goes through its empty middle."""
    ring = sb.targets.Ring()
    points = ring.sample(400, np.random.default_rng(0))
    known = summit_of(sb.Gaussian(points[0], std=0.1))
    is_opposite = (points @ points[0]) < 0
    there = points[np.argmax(np.where(is_opposite, ring.log_prob(points), -np.inf))]
    climb = replace(start_climb(there), value=float(ring.log_prob(there[None])[0]), last_top=0.0).stop()
    fit = SimpleNamespace(density=ring)
    archive = archive_of(points, ring.log_prob(points))
    archive = replace(archive, log_proposed=np.log(len(points)) + ring.log_prob(points))
    for fitted, is_find in ((None, True), (fit, False)):
        view = SimpleNamespace(archive=archive, fit=fitted, tempering=1.0, tuning=Tuning())
        memory = memory_of(replace(known, log_prob=climb.value), ascents=(Ascent(climb),), num_rounds=1)
        memory = settle(view, memory)
        ascent = memory.ascents[0]
        memory = settle(view, replace(memory, ascents=(ascent.tell(ring.log_prob(ascent.ask())),)))
        assert memory.finds == (is_find,)


def test_climbs_want_all_that_is_left_once_they_have_looked_and_found_several_modes():
    view = SimpleNamespace(num_left=900, tempering=1.0)
    memory = ClimbsMemory(np.zeros(2), np.ones(2), np.zeros((1, 2)), finds=(False, True))
    assert Climbs().num_wanted(view, memory) == 0
    assert Climbs().num_wanted(view, replace(memory, num_rounds=1)) == 900


def test_climbs_that_arrive_want_all_that_is_left_while_weights_are_uneven():
    memory = ClimbsMemory(np.zeros(2), np.ones(2), np.zeros((1, 2)), ascents=(Ascent(start_climb(np.zeros(2), 100)),))
    assert Climbs().num_wanted(SimpleNamespace(num_left=900, tempering=0.1), memory) == 900
    assert Climbs().num_wanted(SimpleNamespace(num_left=900, tempering=0.1), replace(memory, ascents=())) == 0
