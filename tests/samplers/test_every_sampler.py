"""What every sampler must do, whatever its algorithm: one row of ``implementations.SAMPLERS`` each.

That a resumed run is bit for bit the run that was never stopped is tested in tests/run/test_checkpoint.py.
"""

import numpy as np
import pytest
from implementations import SAMPLERS

import steinbox as sb

START = sb.Gaussian([0.0, 0.0], std=3.0)
BUDGET = 300
WEIGHTS_EVERY_DRAW = ("importance sampling",)  # and returns all of them


def log_prob(x):
    return -0.5 * ((x[0] - 1) ** 2 + (x[1] - x[0] ** 2) ** 2)


def score(x):
    return np.array([-(x[0] - 1) + 2 * x[0] * (x[1] - x[0] ** 2), -(x[1] - x[0] ** 2)])


def run(name, function=log_prob, **settings):
    defaults = {"num_particles": 20, "max_evals": BUDGET, "seed": 5, "score": score}
    return sb.sample(function, START, method=SAMPLERS[name], **defaults | settings)


def test_every_public_sampler_has_a_row():
    public = [getattr(room, name) for room in (sb, sb.baselines) for name in room.__all__]
    classes = {each for each in public if isinstance(each, type) and issubclass(each, sb.Method)}
    assert classes - {sb.Method, sb.Sampler} == {type(each) for each in SAMPLERS.values()}


@pytest.mark.parametrize("name", SAMPLERS)
def test_particles_were_evaluated_within_the_budget(name):
    result = run(name)
    assert result.particles.shape == (result.num_evals if name in WEIGHTS_EVERY_DRAW else 20, 2)
    assert result.num_evals <= BUDGET
    assert result.weights.sum() == pytest.approx(1)
    assert (result.weights >= 0).all()
    evaluated = np.column_stack([result.archive.points, result.archive.log_prob])
    returned = np.column_stack([result.particles, result.log_prob])
    assert {row.tobytes() for row in returned} <= {row.tobytes() for row in evaluated}


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_same_seed_gives_the_same_particles_and_another_seed_others(name):
    first, again, other = run(name), run(name), run(name, seed=6)
    np.testing.assert_array_equal(first.particles, again.particles)
    assert not np.array_equal(first.particles, other.particles)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_failed_point_is_never_a_particle(name):
    def fails_now_and_then(x):
        if np.sin(50 * x[0]) > 0.9:
            raise RuntimeError("no convergence")
        return log_prob(x)

    result = run(name, fails_now_and_then, max_failure_rate=1.0)
    assert result.num_failures > 0
    assert np.isfinite(result.log_prob[result.weights > 0]).all()


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_constant_in_log_prob_changes_nothing(name):
    """Only differences of log p mean anything."""
    plain, shifted = run(name), run(name, lambda x: log_prob(x) + 8.0)
    np.testing.assert_allclose(shifted.particles, plain.particles, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SAMPLERS)
def test_neither_the_sampler_nor_the_points_it_asked_for_are_changed(name):
    """The user's function may keep or overwrite the point it is given."""
    before = repr(SAMPLERS[name])

    def overwrites(x):
        value = log_prob(x)
        x[:] = np.nan
        return value

    np.testing.assert_array_equal(run(name, overwrites).particles, run(name).particles)
    assert repr(SAMPLERS[name]) == before
