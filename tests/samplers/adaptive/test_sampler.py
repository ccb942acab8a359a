"""Adaptive importance sampling: its archive, its proposers and its particles."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import i0, i1, logsumexp

import steinbox as sb
from steinbox.evaluation import Evaluation
from steinbox.samplers.adaptive import (
    DEFAULT_PROPOSERS,
    Climbs,
    Source,
    SurrogateRefinement,
    Tuning,
    WeightedArchive,
)
from steinbox.samplers.adaptive.surrogate_density import SurrogateDensity
from steinbox.samplers.adaptive.warnings import collect_warnings, movement

COV = np.array([[2.0, 1.2], [1.2, 1.0]])
REFINEMENT = SurrogateRefinement.name
MIXTURE = sb.GaussianMixture([sb.Gaussian([-4.0, 0.0], cov=COV), sb.Gaussian([4.0, 1.0], std=0.5)], [0.7, 0.3])


# -- weights -----------------------------------------------------------------------------------------------------------


def start(method, initial, rng, num_particles=50, max_evals=10_000):
    problem = sb.Problem(initial, np.zeros((num_particles, 2)), max_evals)
    sampler = method.plan(problem)
    return sampler, sampler.start(problem, rng)


def tell_batches(method, target, rng, num_batches, fails=lambda points: np.zeros(len(points), dtype=bool)):
    """The state after so many batches, from START."""
    sampler, state = start(method, START, rng)
    for _ in range(num_batches):
        points = sampler.ask(state, rng)
        failed = fails(points)
        evaluation = Evaluation(np.where(failed, -np.inf, target.log_prob(points)), failed)
        state, _ = sampler.tell(state, points, evaluation, rng)
    return state


def tell_all(method, initial, target, rng, num_particles, max_evals):
    """The state at the end of a run."""
    sampler, state = start(method, initial, rng, num_particles, max_evals)
    while not sampler.is_finished(state):
        points = sampler.ask(state, rng)
        state, _ = sampler.tell(state, points, Evaluation(target.log_prob(points), np.zeros(len(points), bool)), rng)
    return state


def view_of(method, state):
    """What the proposers see of it."""
    sampler, _ = start(method, START, np.random.default_rng(0))
    return sampler._view(state, state.max_evals - state.num_evals)


def test_the_weights_are_those_of_the_deterministic_mixture(rng):
    """Against a table of all densities at all points."""
    state = tell_batches(without(Climbs, batch=100), MIXTURE, rng, 4)
    archive = state.archive
    densities = [START if each.density is None else each.density for each in archive.sources]
    counts = np.array([each.count for each in archive.sources])
    table = np.array([density.log_prob(archive.points) for density in densities])
    expected = logsumexp(table + np.log(counts)[:, None], axis=0)
    np.testing.assert_allclose(archive.log_proposed, expected, rtol=1e-10)
    np.testing.assert_allclose(archive.log_density(archive.points, START), expected, rtol=1e-10)
    assert len(archive) == counts.sum() == state.num_evals


def test_failed_evaluations_are_as_if_never_drawn(rng):
    method = sb.AdaptiveImportanceSampling(batch=100)
    state = tell_batches(method, MIXTURE, rng, 3, fails=lambda points: rng.random(len(points)) < 0.3)
    assert len(state.archive) == sum(each.count for each in state.archive.sources) < state.num_evals
    assert np.isfinite(state.archive.log_prob).all()


START = sb.Gaussian([0.0, 0.0], std=5.0)


def run(target=MIXTURE, initial=START, **settings):
    settings = {"num_particles": 100, "max_evals": 4_000, "vectorized": True, "seed": 0} | settings
    return sb.sample(target.log_prob, initial, **settings)


@pytest.fixture(scope="module")
def whole():
    """A run of 4,000 evaluations with its usual end."""
    return run()


@pytest.fixture(scope="module")
def eight():
    """Eight short runs."""
    return [run(max_evals=1_000, seed=seed) for seed in range(8)]


@pytest.fixture(scope="module")
def bounded():
    """A Gaussian cut in half by a bound."""
    return run(sb.Gaussian([0.0, 0.0], std=1.0), START, bounds=[(0, None), None], max_evals=2_000)


def without(proposer, **settings):
    """The default without one of its proposers, or several."""
    return sb.AdaptiveImportanceSampling(
        proposers=[each for each in DEFAULT_PROPOSERS if not isinstance(each, proposer)], **settings
    )


def test_evidence_and_moments_are_right_over_seeds(eight):
    """The target is normalised: the evidence is one. Within three standard errors over eight seeds."""
    evidence = np.exp([result.trace["log_evidence"][-1] for result in eight])
    assert abs(evidence.mean() - 1) < 3 * evidence.std(ddof=1) / np.sqrt(8)
    assert evidence.std() < 0.1
    means = np.array([result.mean for result in eight])
    np.testing.assert_allclose(means.mean(axis=0), MIXTURE.mean, atol=0.1)


def test_dropped_weights_are_seen(monkeypatch):
    monkeypatch.setattr(
        "steinbox.samplers.adaptive.output.normalize",
        lambda log_weights: np.full(len(log_weights), 1 / len(log_weights)),
    )
    assert np.abs(run(max_evals=1_000).cov / MIXTURE.cov - 1).max() > 0.5


@pytest.mark.parametrize(
    ("target", "initial", "limit"),
    [
        (sb.paper.targets.paper_gaussian(), sb.Gaussian([0, 0], std=3), 0.02),
        (sb.targets.Banana(), sb.Gaussian([0, 0], std=3), 0.05),
        pytest.param(sb.targets.separated_modes(10), sb.Gaussian(np.zeros(10), std=3), 0.04, marks=pytest.mark.slow),
        (sb.paper.targets.paper_gmm(dimension=10), sb.Gaussian(np.zeros(10), std=3), 0.05),
    ],
    ids=["gaussian", "banana", "modes", "mixture"],
)
def test_particles_are_better_than_exact_draws(target, initial, limit):
    """MMD of 200 particles after 5,000 evaluations; 200 exact draws have about 0.055."""
    result = run(target, initial, num_particles=200, max_evals=5_000)
    assert sb.mmd(result.particles, target.sample(5_000, np.random.default_rng(9))) < limit
    np.testing.assert_array_equal(result.log_prob, target.log_prob(result.particles))


def test_the_budget_is_spent_and_never_exceeded():
    for budget in (200, 777, 1_001):
        assert run(max_evals=budget).num_evals == budget
    with pytest.raises(ValueError, match="at least 4 evaluations are needed"):
        run(max_evals=3)


@pytest.mark.parametrize("max_evals", [20, 60, 150])
def test_with_fewer_than_two_evaluations_per_particle_points_are_repeated_and_it_says_so(max_evals):
    result = run(num_particles=100, max_evals=max_evals)
    assert result.num_evals == max_evals
    assert len(result.particles) == 100
    assert {tuple(point) for point in result.particles} <= {tuple(point) for point in result.archive.points}
    assert any("fewer than two per particle" in warning for warning in result.warnings)
    assert not any("fewer than two" in warning for warning in run(num_particles=10, max_evals=max_evals).warnings)


@pytest.mark.parametrize(("num_particles", "max_evals"), [(2, 4), (5, 12), (10, 20)])
def test_the_smallest_budgets_of_all_are_not_exceeded(num_particles, max_evals):
    result = run(num_particles=num_particles, max_evals=max_evals)
    assert result.num_evals == max_evals
    assert len(result.particles) == num_particles


def test_a_batch_larger_than_the_budget():
    result = sb.sample(
        MIXTURE.log_prob,
        START,
        method=sb.AdaptiveImportanceSampling(batch=2_000),
        num_particles=50,
        max_evals=300,
        vectorized=True,
    )
    assert result.num_evals == 300


@pytest.mark.parametrize("inside", [None, 0.0])
def test_a_target_ten_thousand_times_narrower_than_the_start(inside):
    """Alone, and with half of the start outside the support: log-densities span a thousand million nats."""
    target = sb.Gaussian([0.3, 0.3], std=1e-4)

    def log_prob(x):
        return target.log_prob(x) if inside is None else np.where(x[:, 0] > inside, target.log_prob(x), -np.inf)

    initial = sb.Gaussian([0.0, 0.0], std=1.0)
    result = sb.sample(log_prob, initial, vectorized=True, num_particles=50, max_evals=2_000, seed=0)
    assert abs(result.log_evidence) < 0.2
    np.testing.assert_allclose(result.particles.std(axis=0), 1e-4, rtol=0.2)


def test_it_resumes_bit_for_bit(tmp_path, whole):
    def interrupt(iteration):
        if iteration.index == 4:
            raise KeyboardInterrupt

    assert run(checkpoint=tmp_path / "run.ckpt", callback=interrupt).status is sb.Status.INTERRUPTED
    resumed = run(checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    np.testing.assert_array_equal(resumed.trace["log_evidence"], whole.trace["log_evidence"])


def test_it_resumes_a_refinement_bit_for_bit(tmp_path):
    """What is evaluated when it is interrupted is weighted by a density that was in the checkpoint."""
    target, initial = sb.targets.StudentT(8, dof=5.0), sb.Gaussian(np.zeros(8), std=3)

    def interrupt(iteration):
        if iteration.num_evals == 400:
            raise KeyboardInterrupt

    settings = {"num_particles": 200, "max_evals": 600, "method": without(Climbs)}
    whole = run(target, initial, **settings)
    stopped = run(target, initial, checkpoint=tmp_path / "run.ckpt", callback=interrupt, **settings)
    resumed = run(target, initial, checkpoint=tmp_path / "run.ckpt", **settings)
    assert len(stopped.trace["proposers"]) == len(resumed.trace["proposers"]) - 1
    assert resumed.trace["proposers"][-1] == REFINEMENT
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    np.testing.assert_array_equal(resumed.pool_weights, whole.pool_weights)


@pytest.mark.parametrize("num_particles", [20, 200])
def test_a_run_that_came_to_its_end_goes_on_with_more_evaluations(tmp_path, num_particles):
    """After a refinement (20 particles) and without; every old evaluation is weighted with the new ones."""
    settings = {"checkpoint": tmp_path / "run.ckpt", "num_particles": num_particles}
    first = run(**settings, max_evals=500)
    assert (REFINEMENT in first.trace["proposers"]) == (num_particles == 20)
    with pytest.raises(sb.CheckpointError, match="max_evals was 500 and is 450"):
        run(**settings, max_evals=450)
    longer = run(**settings, max_evals=2_000)
    assert 500 < longer.num_evals == len(longer.archive) <= 2_000
    np.testing.assert_array_equal(longer.archive.points[:500], first.archive.points)
    np.testing.assert_array_equal(longer.pool[: len(first.pool)], first.pool)
    assert longer.effective_sample_size > 2 * first.effective_sample_size
    assert abs(longer.log_evidence) < 0.1
    np.testing.assert_allclose(longer.mean, MIXTURE.mean, atol=0.2)
    again = run(**settings, max_evals=2_000)
    np.testing.assert_array_equal(again.particles, longer.particles)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_with_hardly_a_point_inside_goes_on_with_more_evaluations(tmp_path, seed):
    """Of 40 points few are inside: before anything is fitted, the first draws go on."""

    class Disc:
        def log_prob(self, x):
            return np.where(np.abs(x).max(axis=1) < 1.2, -0.5 * (x**2).sum(axis=1), -np.inf)

    settings = {"initial": sb.Gaussian([0.0, 0.0], std=3.0), "num_particles": 10, "seed": seed}
    run(Disc(), **settings, max_evals=40, checkpoint=tmp_path / "run.ckpt")
    longer = run(Disc(), **settings, max_evals=1_500, checkpoint=tmp_path / "run.ckpt")
    assert longer.num_evals > 400
    assert list(longer.trace["proposers"]).count("initial") > 1
    assert np.abs(longer.mean).max() < 0.2


def test_a_batch_that_fails_as_a_whole_after_a_refinement(tmp_path):
    """There are no points then whose density under the surrogate could be asked for."""
    banana, calls = sb.targets.Banana(), []

    def breaks(x):
        calls.append(len(x))
        return banana.log_prob(x) if len(calls) < 2 else np.full(len(x), np.nan)

    settings = {"num_particles": 50, "vectorized": True, "seed": 0, "checkpoint": tmp_path / "run.ckpt"}
    sb.sample(banana.log_prob, START, max_evals=300, **settings)
    longer = sb.sample(breaks, START, max_evals=3_000, **settings)
    assert longer.status is sb.Status.TOO_MANY_FAILURES


def test_walls_and_bounds(bounded):
    target = sb.Gaussian([0.0, 0.0], std=1.0)

    def half(x):
        return np.where(x[:, 0] > 0, target.log_prob(x), -np.inf)

    walled = run(SimpleNamespace(log_prob=half), max_evals=2_000)
    for result in (walled, bounded):
        assert result.particles[:, 0].min() > 0
        assert result.mean[0] == pytest.approx(np.sqrt(2 / np.pi), abs=0.05)


def test_nonsense_is_refused_in_words():
    with pytest.raises(ValueError, match="batch to be a whole number of at least 20, got 3"):
        sb.AdaptiveImportanceSampling(batch=3)


# -- proposers ---------------------------------------------------------------------------------------------------------


def test_it_stops_early_and_says_so():
    settings = {"num_particles": 20, "max_evals": 5_000}
    result = run(**settings)
    assert result.status is sb.Status.CONVERGED
    assert result.num_evals < 2_500
    assert result.effective_sample_size >= 20 * 20
    assert run(**settings, method=sb.AdaptiveImportanceSampling(stop_early=False)).num_evals == 5_000


def test_a_mode_beyond_the_start_is_found():
    """The start is centred at twice one of two modes. Seen to fail without climbs."""
    modes = sb.targets.separated_modes(6, distance=8.0, share=0.5)
    start = sb.Gaussian(2 * modes.components[0].mean, std=3.0)
    result = run(modes, start, max_evals=5_000)
    assert "climbs" in result.trace["proposers"]
    towards = modes.components[1].mean - modes.components[0].mean
    assert ((result.particles @ towards > 0).mean()) == pytest.approx(0.5, abs=0.05)


class Turned:
    """Three bananas in six dimensions, turned: no triangular map is right for it."""

    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]

    def log_prob(self, x):
        return sb.targets.Banana().log_prob((x @ self.rotation).reshape(-1, 2)).reshape(len(x), 3).sum(axis=1)


def test_a_small_budget_is_refined_where_the_surrogate_is_accurate():
    """600 evaluations; 200 exact draws have about 0.05. Without the refinement it is 0.015 here."""
    target = sb.paper.targets.paper_gaussian()
    result = run(target, sb.Gaussian([0, 0], std=3), num_particles=200, max_evals=600)
    assert result.trace["proposers"][-1] == REFINEMENT
    assert sb.mmd(result.particles, target.sample(5_000, np.random.default_rng(9))) < 0.012
    np.testing.assert_allclose(result.log_prob, target.log_prob(result.particles), rtol=1e-12)
    assert result.num_evals == 600


@pytest.mark.slow
def test_a_refinement_makes_much_of_few_evaluations():
    """A heavy-tailed target in 8 dimensions: with 1,000 evaluations about 0.03 with it, and 0.08 without."""
    target, initial = sb.targets.StudentT(8, dof=5.0), sb.Gaussian(np.zeros(8), std=3)
    exact = target.sample(5_000, np.random.default_rng(9))

    def error(method):
        settings = {"num_particles": 200, "max_evals": 1_000, "method": method}
        runs = [run(target, initial, seed=seed, **settings) for seed in range(3)]
        return np.mean([sb.mmd(each.particles, exact) for each in runs])

    assert error(without(Climbs)) < 0.7 * error(without((Climbs, SurrogateRefinement)))


def test_refined_points_are_weighted_as_draws_of_the_surrogate_density(rng):
    """Its density integrates to one, and the weights are p over all densities together."""
    base, gaussian = sb.Gaussian([0.0, 0.0], std=3.0), sb.paper.targets.paper_gaussian()
    target = SimpleNamespace(log_prob=lambda x: gaussian.log_prob(x) + 5.0)
    state = tell_all(sb.AdaptiveImportanceSampling(), base, target, rng, num_particles=100, max_evals=400)
    archive, density = state.archive, state.archive.sources[-1].density
    assert isinstance(density, SurrogateDensity)
    assert archive.sources[-1].count == 100
    line = np.linspace(-12, 12, 241)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    assert np.exp(density.log_prob(grid)).sum() * 0.1**2 == pytest.approx(1.0, abs=0.02)
    expected = target.log_prob(archive.points) - archive.log_density(archive.points, base)
    np.testing.assert_allclose(archive.log_weights, expected, rtol=1e-9)


def test_few_evaluations_are_worth_much_with_refined_points():
    """Heavy tails in 8 dimensions, 600 evaluations: worth 190 to 260 independent draws with it, 25 to 142 without."""
    target, initial = sb.targets.StudentT(8, dof=5.0), sb.Gaussian(np.zeros(8), std=3)

    def runs(method):
        settings = {"num_particles": 200, "max_evals": 600, "method": method}
        return [run(target, initial, seed=seed, **settings) for seed in range(2)]

    refined = runs(without(Climbs))
    assert min(each.effective_sample_size for each in refined) > 150
    assert max(abs(each.log_evidence) for each in refined) < 0.15
    assert max(each.effective_sample_size for each in runs(without((Climbs, SurrogateRefinement)))) < 150


def test_a_refinement_that_is_not_as_predicted_is_not_the_result():
    """Two modes in ten dimensions are too much for a surrogate of 400 values, which is made to go on regardless."""
    target = sb.targets.separated_modes(10, distance=8.0, share=0.5)
    method = sb.AdaptiveImportanceSampling(tuning=Tuning(max_prediction_error=np.inf))
    result = run(target, sb.Gaussian(np.zeros(10), std=3), num_particles=200, max_evals=600, method=method)
    assert REFINEMENT in result.trace["proposers"]
    pool, refined = ({tuple(point) for point in points} for points in (result.pool, result.archive.points[-200:]))
    particles = {tuple(particle) for particle in result.particles}
    assert particles <= pool
    assert 0 < len(particles & refined) < len(particles)


def test_no_refinement_of_more_particles_than_a_third_of_the_evaluations():
    target, initial = sb.paper.targets.paper_gaussian(), sb.Gaussian([0, 0], std=3)
    assert REFINEMENT in run(target, initial, num_particles=200, max_evals=600).trace["proposers"]
    assert REFINEMENT not in run(target, initial, num_particles=201, max_evals=600).trace["proposers"]


def test_no_refinement_near_walls():
    """The surrogate would not know them: every refined particle might be outside."""

    def log_prob(x):
        return np.where((x > 0).all(axis=1), -0.5 * (x**2).sum(axis=1), -np.inf)

    result = sb.sample(
        log_prob, sb.Gaussian([1, 1], std=1), vectorized=True, num_particles=100, max_evals=600, progress=False, seed=0
    )
    assert REFINEMENT not in result.trace["proposers"]


def test_values_of_an_earlier_run_show_the_way(whole):
    """From a start that is far away: 600 evaluations alone do not find the target without climbs."""
    far = sb.Gaussian([30.0, 30.0], std=3.0)
    settings = {"initial": far, "max_evals": 600, "num_particles": 50, "method": without(Climbs)}
    alone, warm = run(**settings), run(**settings, archive=whole.archive)
    assert np.abs(warm.mean - MIXTURE.mean).max() < 0.3
    assert alone.effective_sample_size < 0.5 * warm.effective_sample_size


def test_a_few_values_of_an_earlier_run_show_the_way():
    """Thirty points around the target: weighted by their values, the mixture is where the best of them are."""
    far, rng = sb.Gaussian([30.0, 30.0], std=3.0), np.random.default_rng(0)
    points = np.random.default_rng(0).normal([4.0, 1.0], 4.0, size=(30, 2))
    sampler, state = start(sb.AdaptiveImportanceSampling(), far, rng, max_evals=600)
    state = sampler.warm_start(state, points, sb.Gaussian([4.0, 1.0], std=1.0).log_prob(points))
    draws = state.fit.density.quasi_random(200, np.random.default_rng(0))
    assert draws.std(axis=0).max() < 0.75 * points.std(axis=0).min()


def test_walls_are_met_where_the_last_points_are_outside(rng):
    """Of a batch whose last proposal got no draws, those of the one before are the last."""
    from steinbox.samplers.adaptive.proposers.surrogate_refinement import _meets_walls

    log_prob = np.where(np.arange(200) < 100, -np.inf, 0.0)

    def archive(log_prob, counts):
        sources = tuple(Source("initial", None, count) for count in counts)
        return WeightedArchive(rng.standard_normal((200, 2)), log_prob, np.zeros(200), sources)

    assert not _meets_walls(archive(log_prob, (100, 100, 0)))
    assert _meets_walls(archive(log_prob[::-1], (100, 0, 100)))


# -- particles ---------------------------------------------------------------------------------------------------------


def test_the_pool_and_the_evidence(whole):
    result = whole
    assert len(result.pool) <= result.num_evals == len(result.archive.points)
    np.testing.assert_allclose(result.pool_weights.sum(), 1)
    np.testing.assert_allclose(result.pool_weights @ result.pool, MIXTURE.mean, atol=0.1)
    assert abs(result.log_evidence) < 4 * result.log_evidence_error + 0.01
    assert 0 < result.log_evidence_error < 0.05
    assert result.pareto_shape < 0.7
    assert result.warnings == ()


def test_the_evidence_error_is_about_right(eight):
    """Over eight seeds the evidence scatters as much as it says, or less: quasi-random draws do better."""
    scatter = np.std([result.log_evidence for result in eight], ddof=1)
    said = np.mean([result.log_evidence_error for result in eight])
    assert said / 10 < scatter < 2 * said


def test_a_pool_in_the_user_s_units(bounded):
    assert bounded.pool[:, 0].min() > 0
    assert bounded.log_evidence == pytest.approx(np.log(0.5), abs=0.05)
    assert (bounded.pool_weights @ bounded.pool)[0] == pytest.approx(np.sqrt(2 / np.pi), abs=0.05)


def test_a_uniform_start_between_bounds_is_normalised():
    target = sb.Gaussian([0.0, 0.0], std=1.0)
    result = run(target, None, bounds=[(-5, 5), (-5, 5)], max_evals=2_000)
    assert result.log_evidence == pytest.approx(0, abs=0.03)


def test_it_is_saved_and_loaded(tmp_path, whole):
    again = sb.Result.load(whole.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.pool, whole.pool)
    np.testing.assert_array_equal(again.trace["proposers"], whole.trace["proposers"])
    assert again.log_evidence == whole.log_evidence
    x = MIXTURE.sample(10, np.random.default_rng(0))
    np.testing.assert_array_equal(again.mixture.log_prob(x), whole.mixture.log_prob(x))


def test_other_methods_have_their_particles_as_the_pool():
    result = sb.sample(MIXTURE.log_prob, START, method=sb.baselines.SMC(), vectorized=True, max_evals=4_000, seed=0)
    np.testing.assert_array_equal(result.pool, result.particles)
    assert result.mixture is None
    assert abs(result.log_evidence) < 0.5
    assert np.isnan(result.log_evidence_error)


def test_the_mixture_is_a_surrogate(whole):
    exact = MIXTURE.sample(300, np.random.default_rng(1))
    log_prob = MIXTURE.log_prob(exact)
    good = sb.gf_ksd(exact, log_prob, surrogate=whole.mixture)
    bad = sb.gf_ksd(1.5 * exact, MIXTURE.log_prob(1.5 * exact), surrogate=whole.mixture)
    assert float(good) < 0.5 * float(bad)
    assert sb.goodness_of_fit(exact, log_prob, surrogate=whole.mixture, rng=0).p_value > 0.05
    assert len(sb.thin(exact, log_prob, 20, surrogate=whole.mixture)) == 20


def test_too_small_a_budget_is_said_in_words():
    hard = sb.targets.autoregressive(20)
    result = run(hard, sb.Gaussian(np.zeros(20), std=3.0), max_evals=300)
    assert any("independent draws" in warning for warning in result.warnings)


def test_mass_still_being_found_is_said_in_words():
    """A funnel with 1,500 evaluations, whose particles are wrong with every seed: each of two runs says so."""
    settings = {"num_particles": 200, "max_evals": 1_500}
    start = sb.Gaussian(np.zeros(10), std=3.0)
    warnings = [" ".join(run(sb.targets.Funnel(10), start, seed=seed, **settings).warnings) for seed in range(2)]
    assert all("independent draws" in each or "still being found" in each for each in warnings)


def test_angles_have_their_spread_and_their_evidence():
    """A von Mises density; exact: mean cosine I1(3)/I0(3), and 360 I0(3)."""
    result = sb.sample(
        lambda x: 3 * np.cos(np.radians(x[:, 0] - 350)),
        None,
        bounds=[sb.Periodic(0, 360)],
        vectorized=True,
        max_evals=1_000,
        seed=0,
    )
    assert np.cos(np.radians(result.particles[:, 0] - 350)).mean() == pytest.approx(i1(3) / i0(3), abs=0.01)
    assert result.log_evidence == pytest.approx(np.log(360 * i0(3)), abs=0.05)


@pytest.mark.parametrize("radius", [0.15, 0.4])
def test_a_small_support_is_drawn_for_until_enough_points_lie_inside(radius):
    """Of the first draws hardly one lies inside, or none."""

    def disc(x):
        return np.where((x**2).sum(axis=1) < radius**2, 0.0, -np.inf)

    start = sb.Gaussian([0.5, 0.0], std=1.0)
    result = sb.sample(disc, start, num_particles=50, max_evals=4_000, vectorized=True, seed=3)
    assert np.isfinite(result.log_prob).all()
    assert np.abs(result.mean).max() < 0.1 * radius + 0.02
    assert result.log_evidence == pytest.approx(np.log(np.pi * radius**2), abs=0.1)


# -- climbs ------------------------------------------------------------------------------------------------------------

NARROW = sb.GaussianMixture(
    [
        sb.Gaussian([2.0, 2.0, 0.0], std=1.0),
        sb.Gaussian([-4.0, 0.0, 3.0], std=0.25),
        sb.Gaussian([0.0, -4.0, -3.0], std=0.25),
    ],
    [0.4, 0.3, 0.3],
)


def test_narrow_modes_are_found():
    """Of 400 draws hardly one is near them. Seen to fail without climbs."""
    result = run(NARROW, sb.Gaussian(np.zeros(3), std=3.0), max_evals=6_000, seed=1)
    shares = [(np.linalg.norm(result.particles - each.mean, axis=1) < 1.5).mean() for each in NARROW.components[1:]]
    np.testing.assert_allclose(shares, 0.3, atol=0.03)


def test_a_target_three_thousand_times_narrower_than_the_start_is_found():
    """Correlated, in twelve dimensions. Seen to fail without climbs, with 26 nats of log-evidence missing."""
    rng = np.random.default_rng(0)
    root = 1e-3 * (np.eye(12) + 0.5 * rng.standard_normal((12, 12)))
    target = sb.Gaussian(rng.standard_normal(12), cov=root @ root.T)
    result = run(target, sb.Gaussian(np.zeros(12), std=3.0), max_evals=5_000)
    assert abs(result.log_evidence) < 0.1
    np.testing.assert_allclose((result.mean - target.mean) / np.sqrt(np.diag(target.cov)), 0, atol=0.2)
    assert result.warnings == ()


def test_climbs_keep_to_their_share_and_come_to_an_end(rng):
    method = sb.AdaptiveImportanceSampling(stop_early=False)
    memory = tell_all(method, START, MIXTURE, rng, num_particles=50, max_evals=2_000).memories["climbs"]
    assert 200 < memory.num_evals <= 0.5 * 2_000
    assert memory.ascents == ()


def test_what_climbs_evaluate_has_no_weight_and_is_kept(whole):
    assert len(whole.pool) < whole.num_evals == len(whole.archive.points)


@pytest.mark.parametrize("covariance", [np.zeros((3, 3)), np.diag([1.0, 1e-40, 0.0]), np.ones((3, 3))])
def test_a_summit_that_is_flat_in_a_direction_can_be_drawn_from(covariance):
    """At a wall BFGS may learn that there is no way to go."""
    from steinbox.numerics.climb import regular_root
    from steinbox.samplers.adaptive.known import Summit

    root = regular_root(covariance)
    summit = Summit(np.zeros(3), 0.0, root @ root.T)
    assert np.isfinite(summit.log_mass)
    assert summit.log_density(np.zeros((1, 3))) == 0.0
    assert np.isfinite(sb.Gaussian(np.zeros(3), cov=summit.covariance).log_prob(np.zeros((1, 3)))).all()


def test_noise_is_not_climbed():
    noisy = run(max_evals=600, noise=True)
    assert noisy.coverage is None
    assert "climbs" not in noisy.trace["proposers"]


def test_coverage_is_the_share_of_places_that_lead_elsewhere():
    """The rule of succession, and the bound that is right 19 times in 20."""
    coverage = sb.Coverage(num_climbs=20, num_finds=1, num_since_last=10)
    assert coverage.unseen == pytest.approx(1 / 12)
    assert (1 - coverage.upper) ** 10 == pytest.approx(0.025)
    assert sb.Coverage(num_climbs=1, num_finds=1, num_since_last=0).upper == 1
    explained = sb.Coverage(20, 1, 10, num_places=400, num_open=100)
    assert explained.unseen == pytest.approx(0.25 / 12 + 0.75 / 302)
    assert explained.upper == pytest.approx(0.25 * coverage.upper + 0.75 * (1 - 0.025 ** (1 / 300)))
    assert sb.Coverage(0, 0, 0, num_places=100, num_open=0).unseen == pytest.approx(1 / 102)


def test_the_bound_of_the_coverage_is_right_19_times_in_20():
    """Basins of many sizes; 20 climbs, of which the first to each basin is a find."""
    rng, is_right, sizes = np.random.default_rng(0), [], np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    for _ in range(1_000):
        ends = rng.choice(5, 20, p=sizes)
        firsts = [list(ends).index(each) for each in set(ends)]
        coverage = sb.Coverage(20, len(firsts), 19 - max(firsts))
        is_right.append(1 - sizes[list(set(ends))].sum() <= coverage.upper)
    assert np.mean(is_right) > 0.95


def test_several_modes_and_few_climbs_are_warned_of(rng):
    method = sb.AdaptiveImportanceSampling()
    state = tell_all(method, START, MIXTURE, rng, num_particles=50, max_evals=2_000)
    memory = state.memories["climbs"]
    few = dataclasses.replace(memory, finds=(False, True, False))
    state = dataclasses.replace(state, memories={**state.memories, "climbs": few}, tempering=0.99)
    assert any("1 of 3 climbs" in each for each in collect_warnings(state, 50, START, 0.0, Tuning(), is_refined=False))


# -- warnings ----------------------------------------------------------------------------------------------------------


def test_an_archive_knows_what_it_was_before():
    method = sb.AdaptiveImportanceSampling(batch=100)
    early = tell_batches(method, MIXTURE, np.random.default_rng(5), 6).archive
    late = tell_batches(method, MIXTURE, np.random.default_rng(5), 9).archive
    again = late.before(len(early) / len(late) + 1e-9, START)
    np.testing.assert_array_equal(again.points, early.points)
    np.testing.assert_allclose(again.log_weights, early.log_weights, rtol=1e-10)


def test_weighted_points_that_move_are_seen(rng):
    """The first three proposals are blind to one of two modes."""
    archive = WeightedArchive.empty(2)
    one, both = sb.GaussianMixture([MIXTURE.components[0]]), MIXTURE
    for density in (one, one, one, both):
        points = density.sample(500, rng)
        archive = archive.extend(points, MIXTURE.log_prob(points), [Source("test", density, 500)], START)
    distance, allowed = movement(archive.before(0.75, START), archive, num_particles=50)
    assert distance > 1.5 * allowed
    steady = tell_batches(without(Climbs, batch=200), MIXTURE, rng, 15).archive
    distance, allowed = movement(steady.before(0.75, START), steady, num_particles=50)
    assert distance < 0.5 * allowed


def test_an_arm_that_is_still_growing_is_said_in_words():
    """Arms that reach far beyond the start; four of six seeds say so. Seen to fail without earlier weights."""

    def arms(x):
        offsets = np.column_stack([x[:, 0] / 6, (x[:, 1] - x[:, 0] ** 2) / 0.3, x[:, 2] - x[:, 1] ** 2])
        return -0.5 * (offsets**2).sum(axis=1)

    start = sb.Gaussian(np.zeros(3), std=2.0)
    settings = {"vectorized": True, "num_particles": 200, "max_evals": 4_000}
    for seed in (2, 3):
        assert any("have not settled" in warning for warning in sb.sample(arms, start, seed=seed, **settings).warnings)


def test_a_run_that_has_just_arrived_is_not_warned_of():
    """The first half is worth one draw; seen to fail if the evidence is compared with its."""
    target = sb.targets.autoregressive(40)
    result = run(target, sb.Gaussian(np.zeros(40), std=3.0), max_evals=2_600, num_particles=50)
    assert result.warnings == ()


def test_heavy_tails_in_thirty_dimensions():
    """Over five seeds log Z is -0.3 to -0.1. Seen to fail without shells: worth one draw, and a warning."""
    result = run(sb.targets.StudentT(30), sb.Gaussian(np.zeros(30), std=3.0), max_evals=5_000, num_particles=200)
    assert result.warnings == ()
    assert result.effective_sample_size > 500
    assert result.log_evidence == pytest.approx(0, abs=0.5)


@pytest.mark.parametrize(("noise", "at_least"), [(None, 20), (False, 20), (True, 40), (0.5, 40)])
def test_it_stops_early_later_if_log_prob_is_noisy(noise, at_least):
    """Quasi-random draws with noise are worth no more than their effective sample size says."""
    result = run(max_evals=10_000, num_particles=20, noise=noise, method=without(Climbs))
    assert result.num_evals < 10_000
    ratios = result.trace["effective_sample_size"] / 20
    assert ratios[-1] > at_least
    assert ratios[-1] < 40 or at_least == 40


def test_noise_must_be_a_standard_deviation():
    with pytest.raises(ValueError, match="expected noise to be a positive standard deviation, True or False, got -1"):
        run(noise=-1)
