"""What a surrogate's builder is given: which points, in which order, with which values."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import steinbox as sb
from steinbox.evaluation import Evaluation
from steinbox.maps.coordinates import Plain
from steinbox.numerics.kernels import RBF
from steinbox.samplers.stein.direction import stein_direction
from steinbox.samplers.stein.rescue import bring_back

BASE = sb.Gaussian([0.0, 0.0], std=2.0)
TARGET = sb.Gaussian([1.0, 0.0], std=1.0)


@dataclass
class Spy:
    """A builder that remembers what it was given and builds a fixed Gaussian."""

    num_history: int
    calls: list = field(default_factory=list)

    def build(self, points, log_target, num_current):
        self.calls.append((points, log_target, num_current))
        return BASE


def run(method, num_iterations, failing=None, outside=()):
    """Drive the method by hand; the points of every iteration, one of them failed and some outside the support."""
    rng = np.random.default_rng(0)
    problem = sb.Problem(BASE, TARGET.sample(8, rng), 1_000)
    sampler = method.plan(problem)
    state = sampler.start(problem, rng)
    visited = []
    for iteration in range(num_iterations):
        points = sampler.ask(state, rng)
        log_prob, failed = TARGET.log_prob(points), np.zeros(8, dtype=bool)
        failed[failing[iteration] if failing else []] = True
        log_prob[failed] = log_prob[list(outside)] = -np.inf
        state, _ = sampler.tell(state, points, Evaluation(log_prob, failed), rng)
        visited.append(points)
    return visited


def told(method, particles, evaluation):
    """The state after one move from these particles."""
    rng, problem = np.random.default_rng(0), sb.Problem(BASE, particles, 1_000)
    sampler = method.plan(problem)
    return sampler.tell(sampler.start(problem, rng), particles, evaluation, rng)[0]


def test_the_current_particles_come_first_then_the_newest_of_the_past():
    spy = Spy(num_history=2)
    visited = run(sb.GFSVGD(surrogate=spy), num_iterations=5)
    points, log_target, num_current = spy.calls[4]
    np.testing.assert_array_equal(points, np.concatenate([visited[4], visited[3], visited[2]]))
    np.testing.assert_allclose(log_target, TARGET.log_prob(points))
    assert num_current == 8
    assert [len(call[0]) for call in spy.calls] == [8, 16, 24, 24, 24]


def test_failed_points_are_never_taught_and_points_outside_are():
    spy = Spy(num_history=1)
    visited = run(sb.GFSVGD(surrogate=spy), num_iterations=3, failing=[[1], [6], [1]], outside=[3])
    points, log_target, num_current = spy.calls[2]
    now, before = np.delete(visited[2], 1, axis=0), np.delete(visited[1], 6, axis=0)
    oldest = visited[0][:1]  # the history is filled up to as many points as there are particles
    np.testing.assert_array_equal(points, np.concatenate([now, before, oldest]))
    np.testing.assert_array_equal(np.flatnonzero(np.isinf(log_target)), [2, 10])
    assert num_current == 7


def test_a_point_that_fails_again_counts_as_outside():
    spy = Spy(num_history=0)
    run(sb.GFSVGD(surrogate=spy), num_iterations=2, failing=[[1], [1]])
    assert [len(call[0]) for call in spy.calls] == [7, 8]
    assert np.isinf(spy.calls[1][1][1])


def test_a_point_that_fails_once_goes_on_with_the_others():
    """Where it goes is where the Stein direction of the others sends it, not half-way to its neighbour."""
    rng = np.random.default_rng(0)
    method = sb.GFSVGD(
        surrogate=BASE, optimizer=sb.optimizers.Plain(0.1), coordinates=sb.coordinates.Plain(), bandwidth=2.0
    )
    particles = TARGET.sample(8, rng)
    failed = np.arange(8) == 2
    log_prob = np.where(failed, -np.inf, TARGET.log_prob(particles))
    state = told(method, particles, Evaluation(log_prob, failed))
    weights = np.where(failed, 0.0, np.exp(BASE.log_prob(particles) - TARGET.log_prob(particles)))
    direction = stein_direction(particles, BASE.score(particles), weights / weights.sum(), RBF(), 2.0)
    np.testing.assert_allclose(state.next_particles, particles + 0.1 * direction, rtol=1e-10)


def test_a_step_that_overflows_is_not_taken():
    points = np.zeros((3, 2))
    moved = bring_back(points, np.array([[1.0, 2.0], [np.inf, 1.0], [np.nan, np.nan]]), np.full(3, False))
    np.testing.assert_array_equal(moved, [[1.0, 2.0], [0.0, 1.0], [0.0, 0.0]])


def test_a_straggler_is_neither_taught_nor_left_behind():
    spy = Spy(num_history=0)
    rng = np.random.default_rng(0)
    method = sb.GFSVGD(surrogate=spy)
    particles = TARGET.sample(8, rng)
    particles[5] = [1e3, 1e3]
    state = told(method, particles, Evaluation(TARGET.log_prob(particles), np.full(8, False)))
    assert len(spy.calls[0][0]) == 7
    assert state.log_prob[5] == pytest.approx(TARGET.log_prob(particles)[5]), "what was evaluated is reported as it is"
    assert np.linalg.norm(state.next_particles[5]) < 0.51 * np.linalg.norm(particles[5])


def test_past_values_are_those_of_the_present_temperature():
    spy = Spy(num_history=1)
    run(sb.AnnealedGFSVGD(surrogate=spy, schedule=sb.Schedule(fraction=1.0, power=1.0), num_iterations=4), 3)
    for temperature, (points, log_target, _) in zip((0.25, 0.5, 0.75), spy.calls, strict=True):
        expected = (1 - temperature) * BASE.log_prob(points) + temperature * TARGET.log_prob(points)
        np.testing.assert_allclose(log_target, expected)


@pytest.mark.parametrize("method", [sb.AnnealedSVGD, sb.AnnealedGFSVGD])
def test_the_annealed_target_is_evaluated_once_per_move(method):
    """At particles, past and known points at once. Seen to fail: at the particles it was evaluated twice."""
    calls = []

    class Base:
        dimension, sample, score = 2, BASE.sample, BASE.score

        def log_prob(self, x):
            calls.append(len(x))
            return BASE.log_prob(x)

    run_one = {"num_particles": 8, "max_evals": 80, "vectorized": True, "score": TARGET.score, "seed": 0}
    sb.sample(TARGET.log_prob, BASE, method=method(base=Base()), **run_one)
    assert len(calls) == 10
    assert calls[:2] == ([8, 16] if method is sb.AnnealedGFSVGD else [8, 8])


@pytest.mark.parametrize("num_history", [0, 5])
def test_the_interpolant_gets_the_history_it_asks_for(num_history, rng):
    method = sb.AnnealedGFSVGD(surrogate=sb.surrogates.Interpolant(num_history=num_history))
    assert method.plan(sb.Problem(BASE, TARGET.sample(8, rng), 1_000)).drive.num_history == num_history


@pytest.mark.parametrize("rescue", [True, False])
def test_a_straggler_is_brought_in_unless_the_papers_algorithm_is_asked_for(rescue):
    target = sb.Gaussian(np.zeros(2), std=1.0)
    particles = np.vstack([target.sample(30, np.random.default_rng(0)), [[40.0, 0.0]]])
    method = sb.SVGD(num_iterations=1, coordinates=Plain(), rescue=rescue)
    result = sb.sample(target.log_prob, particles, method=method, score=target.score, vectorized=True, seed=0)
    assert (result.particles[-1, 0] < 25) == rescue
