"""Several moves by one interpolant: what they are, how many there are, and what its predictions are worth."""

import numpy as np
import oracles
import pytest

import steinbox as sb
from steinbox.samplers.annealing import interpolate, retemper
from steinbox.samplers.stein.warnings import collect_warnings, missed_share

TARGET = sb.targets.Banana()
START = sb.Gaussian([0.0, 0.0], std=2.0)


def run(method, num_particles=30, **settings):
    settings = {"vectorized": True, "seed": 0} | settings
    return sb.sample(TARGET.log_prob, START, method=method, num_particles=num_particles, **settings)


def one_step(surrogate, **settings):
    """The particles before and after the moves by the first surrogate."""
    method = sb.GFSVGD(
        surrogate=surrogate,
        num_iterations=1,
        optimizer=sb.optimizers.Plain(0.1),
        coordinates=sb.coordinates.Plain(),
        bandwidth=1.3,
        rescue=False,
        **settings,
    )
    return run(method, record=2).record.particles


def test_moves_follow_the_interpolant_of_the_first_place():
    """Two moves, each shorter by the root of two, as a double loop."""
    before, after = one_step(sb.surrogates.Interpolant(max_moves=2))
    surrogate = sb.surrogates.Interpolant().build(before, TARGET.log_prob(before), len(before))
    x, weights = before, np.exp(surrogate.log_prob(before) - TARGET.log_prob(before))  # one, but for the nugget
    weights /= weights.sum()
    for _ in range(2):
        x = x + 0.1 / np.sqrt(2) * oracles.stein_direction(x, surrogate.score(x), weights, oracles.rbf, 1.3)
    np.testing.assert_allclose(after, x, atol=1e-9)


@pytest.mark.parametrize(
    ("surrogate", "settings"),
    [
        (sb.surrogates.Interpolant(max_moves=1), {}),
        (sb.surrogates.KernelCurve(), {}),
        (sb.surrogates.Interpolant(), {"flat_share": 0.3}),
        (sb.surrogates.Interpolant(), {"weighted_steps": True}),
        (sb.surrogates.Interpolant(), {"weight": np.eye(2)}),
    ],
    ids=["asked for", "the paper's curve", "flat share", "weighted steps", "matrix"],
)
def test_one_move_where_another_would_need_values(surrogate, settings):
    method = sb.GFSVGD(surrogate=surrogate, num_iterations=4, **settings)
    assert set(run(method).trace.get("num_moves", [1])) == {1}


def test_moves_become_more_where_the_interpolant_predicts_and_fewer_where_not():
    def moves(target):
        result = sb.sample(
            target, START, method=sb.GFSVGD(num_iterations=12), num_particles=30, vectorized=True, seed=0
        )
        return result.trace["num_moves"]

    assert moves(sb.Gaussian([0.0, 0.0], std=1.5).log_prob)[-1] == 5
    assert moves(lambda x: -0.5 * (x**2).sum(axis=1) + 5 * np.cos(20 * x).sum(axis=1))[-1] == 1


def test_a_surrogate_that_predicts_nothing_is_said():
    def rough(x):
        return -0.5 * (x**2).sum(axis=1) + 5 * np.cos(20 * x).sum(axis=1)

    settings = {"num_particles": 30, "vectorized": True, "seed": 0}
    for method in (sb.GFSVGD(num_iterations=20), sb.AnnealedGFSVGD(num_iterations=20)):
        said = sb.sample(rough, START, method=method, **settings).warnings
        assert any("The surrogate missed" in each for each in said)
    x = START.sample(200, np.random.default_rng(0))
    forces = np.full(200, 1 / 200), START.score(x)
    assert list(collect_warnings(x, START.log_prob(x), *forces, misprediction=0.1)) == []


def test_the_missed_share_is_one_for_the_mean_and_zero_for_the_truth(rng):
    log_prob = np.append(rng.standard_normal(50), -np.inf)
    assert missed_share(log_prob, log_prob) == 0.0
    assert missed_share(np.full(51, log_prob[:-1].mean()), log_prob) == pytest.approx(1.0)


@pytest.mark.parametrize(("temperature", "other"), [(0.3, 0.2), (0.3, 0.3), (1.0, 1.0), (0.4, 1.0)])
def test_another_temperature_of_the_path(temperature, other, rng):
    base, target = rng.standard_normal((2, 7))
    moved = retemper(interpolate(base, target, temperature), target, temperature, other)
    np.testing.assert_allclose(moved, interpolate(base, target, other))
    assert np.isnan(retemper(target, target, 1.0, 0.5)).all()
