"""A sampler that a user writes to the protocol: everything that the front door offers works with it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import steinbox as sb

TARGET = sb.Gaussian([1.0, -1.0], std=0.5)
START = sb.Gaussian([0.0, 0.0], std=2.0)


@sb.serializable("my-package/walkers")
@dataclass(frozen=True, eq=False)
class Walkers:
    """Where they are, the log-density there, and where they may go."""

    points: np.ndarray
    log_prob: np.ndarray
    proposed: np.ndarray


@dataclass(frozen=True)
class Metropolis(sb.Sampler[Walkers]):
    """The sampler of docs/own-sampler.md: nothing but what must be said."""

    step: float = 0.5

    def start(self, problem, rng):
        return Walkers(problem.particles, np.full(problem.num_particles, -np.inf), problem.particles)

    def ask(self, state, rng):
        return state.proposed

    def tell(self, state, points, evaluation, rng):
        with np.errstate(invalid="ignore"):
            accepted = np.log(rng.random(len(points))) < evaluation.log_prob - state.log_prob
        points = np.where(accepted[:, None], points, state.points)
        log_prob = np.where(accepted, evaluation.log_prob, state.log_prob)
        proposed = points + self.step * rng.standard_normal(points.shape)
        return Walkers(points, log_prob, proposed), {"acceptance": accepted.mean()}

    def sample(self, state):
        return sb.Sample.equally_weighted(state.points, state.log_prob)


def log_prob(x):
    return float(TARGET.log_prob(x[None])[0])


def run(method=None, function=log_prob, initial=START, **settings):
    small = {"num_particles": 40, "max_evals": 4_000, "seed": 0}
    return sb.sample(function, initial, method=method or Metropolis(), **(small | settings))


def assert_same(result, other):
    np.testing.assert_array_equal(result.particles, other.particles)
    np.testing.assert_array_equal(result.log_prob, other.log_prob)
    assert set(result.trace) == set(other.trace)
    for name, values in result.trace.items():
        np.testing.assert_array_equal(values, other.trace[name])


def interrupt_at(index):
    def interrupt(iteration):
        if iteration.index == index:
            raise KeyboardInterrupt

    return interrupt


def test_it_runs_to_its_budget():
    """Seen to fail with a KeyError after the last evaluation, in the search for warnings."""
    result = run()
    assert result.status is sb.Status.BUDGET_SPENT
    assert result.status.is_complete
    assert result.num_evals == 4_000
    assert set(result.trace) == {"acceptance", "mean_log_prob", "num_evals"}
    assert len(result.trace["acceptance"]) == 100
    assert result.trace["mean_log_prob"][-1] == pytest.approx(result.log_prob.mean())
    np.testing.assert_allclose(result.mean, TARGET.mean, atol=0.3)
    np.testing.assert_allclose(result.log_prob, TARGET.log_prob(result.particles))
    assert result.warnings == ()
    assert np.isnan(result.log_evidence)
    assert result.effective_sample_size == pytest.approx(40)


@pytest.mark.parametrize("index", [0, 7])
def test_it_resumes_bit_for_bit(index, tmp_path):
    path = tmp_path / "run.ckpt"
    stopped = run(checkpoint=path, callback=interrupt_at(index))
    assert stopped.status is sb.Status.INTERRUPTED
    assert stopped.num_evals == 40 * (index + 1)
    assert_same(run(checkpoint=path), run())


def test_it_can_be_saved_and_loaded(tmp_path):
    result = run()
    again = sb.Result.load(result.save(tmp_path / "result.npz"))
    assert_same(again, result)
    assert again.config["settings"] == {"name": "Metropolis", "step": 0.5}


def test_ctrl_c_returns_the_last_complete_iteration():
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 70:
            raise KeyboardInterrupt
        return log_prob(x)

    result = run(function=interrupted)
    assert result.status is sb.Status.INTERRUPTED
    np.testing.assert_array_equal(result.particles, calls[:40])


def test_a_callback_sees_it_and_may_stop_it():
    seen = []
    result = run(callback=lambda iteration: seen.append(iteration) or iteration.index == 4)
    assert result.status is sb.Status.STOPPED_BY_CALLBACK
    assert [iteration.progress for iteration in seen] == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05])
    np.testing.assert_array_equal(seen[4].particles, result.particles)
    assert seen[4].info["acceptance"] == result.trace["acceptance"][4]


def test_bounds_are_no_business_of_its():
    result = run(initial=None, bounds=[(0, 4), (-3, 0)])
    assert result.particles.min(axis=0) == pytest.approx([0.5, -1.5], abs=0.6)
    np.testing.assert_allclose(result.log_prob, TARGET.log_prob(result.particles))
    np.testing.assert_allclose(result.mean, TARGET.mean, atol=0.4)


@pytest.mark.parametrize("executor", [1])
def test_it_does_not_know_where_points_are_evaluated(executor):
    assert_same(run(executor=executor, max_evals=400), run(max_evals=400))


def test_an_archive_it_has_no_use_for_is_refused():
    with pytest.raises(ValueError, match="Metropolis builds no surrogate and has no use for archive="):
        run(archive=run(max_evals=80).archive)


def test_a_batch_outside_the_support_ends_it_unless_it_tolerates_that():
    class Patient(Metropolis):
        tolerates_empty_batch = True

    def only_at_the_start():
        calls = []
        return lambda x: log_prob(x) if calls.append(1) or len(calls) <= 40 else -np.inf

    assert run(function=only_at_the_start()).status is sb.Status.SUPPORT_LOST
    assert run(Patient(), function=only_at_the_start()).status is sb.Status.BUDGET_SPENT


def test_settings_that_wait_for_the_problem_are_filled_in_by_the_plan():
    """The step from the spread of the particles; the score, the noise and the budget are asked for too."""
    problems = []

    @dataclass(frozen=True)
    class Scaled(sb.Method[Walkers]):
        step: float | None = None
        needs_score = True

        def evals_needed(self, num_particles):
            return 3 * num_particles

        def plan(self, problem):
            problems.append(problem)
            return Metropolis(problem.particles.std() if self.step is None else self.step)

    result = run(Scaled(), score=lambda x: x, max_evals=None, noise=0.5)
    assert result.num_evals == problems[0].max_evals == 120
    assert problems[0].noise == 0.5
    assert (problems[0].num_particles, problems[0].dimension) == (40, 2)
    assert result.config["method"] == "Scaled"


def test_it_ends_when_it_says_so():
    @dataclass(frozen=True)
    class Ending(Metropolis):
        ending: str = ""

        def is_finished(self, state):
            return self.ending == "finished"

        def is_converged(self, state):
            return self.ending == "converged"

        def ask(self, state, rng):
            return state.proposed if np.isneginf(state.log_prob).all() else np.empty((0, 2))

    assert run(Ending(ending="finished")).status is sb.Status.FINISHED
    assert run(Ending(ending="converged")).status is sb.Status.CONVERGED
    assert run(Ending()).status is sb.Status.FINISHED, "no points to evaluate are an end"


def test_a_sampler_that_cannot_go_on_loses_nothing():
    class Stalling(Metropolis):
        def tell(self, state, points, evaluation, rng):
            if np.isfinite(state.log_prob).any():
                raise sb.StalledError("I do not know where to go")
            return super().tell(state, points, evaluation, rng)

    result = run(Stalling())
    assert result.status is sb.Status.STALLED
    assert "I do not know where to go" in result.warnings
    assert result.particles.shape == (40, 2)


def test_what_it_warns_of_is_in_the_result():
    class Doubtful(Metropolis):
        def sample(self, state):
            return replace(super().sample(state), warnings=("All of this is a guess.",), log_evidence=2.0)

    result = run(Doubtful())
    assert result.warnings == ("All of this is a guess.",)
    assert result.log_evidence == 2.0


def test_what_it_does_not_always_report_is_nan_in_the_trace(tmp_path):
    class Moody(Metropolis):
        def tell(self, state, points, evaluation, rng):
            is_first = np.isneginf(state.log_prob).all()
            state, info = super().tell(state, points, evaluation, rng)
            return state, {"first": 1.0} if is_first else info

    result = run(Moody(), max_evals=200, checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(np.isnan(result.trace["first"]), [False, True, True, True, True])
    assert np.isnan(result.trace["acceptance"][0])
    assert np.isfinite(result.trace["acceptance"][1:]).all()


def test_what_is_no_sampler_is_refused():
    class Lookalike:
        ask = tell = None

    with pytest.raises(TypeError, match=r"or your own sb\.Sampler, got"):
        run(Lookalike())
    with pytest.raises(TypeError, match="abstract"):
        type("Incomplete", (sb.Sampler,), {})()


@pytest.mark.parametrize("points", [np.zeros(2), np.zeros((3, 5))], ids=["flat", "wide"])
def test_points_that_cannot_be_evaluated_are_refused_in_words(points):
    class Wrong(Metropolis):
        def ask(self, state, rng):
            return points

    with pytest.raises(ValueError, match=r"expected Wrong.ask to return points of shape \(m, 2\)"):
        run(Wrong())
