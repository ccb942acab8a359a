"""What every proposer must do: one row of ``implementations.PROPOSERS`` each."""

import numpy as np
import pytest
from implementations import PROPOSERS

import steinbox as sb
from steinbox.samplers.adaptive import DEFAULT_PROPOSERS, FittedFamily, proposers

TARGET = sb.targets.separated_modes(dimension=2, distance=5.0)  # normalized: the log-evidence is zero
START = sb.Gaussian([0.0, 0.0], std=3.0)


def run(portfolio, **settings):
    defaults = {"num_particles": 50, "max_evals": 1_500, "vectorized": True, "seed": 3}
    method = sb.AdaptiveImportanceSampling(proposers=portfolio)
    return sb.sample(TARGET.log_prob, START, method=method, **defaults | settings)


def beside_the_family(name):
    """The least that a run needs, and this one."""
    proposer = PROPOSERS[name]
    return (proposer,) if isinstance(proposer, FittedFamily) else (proposer, FittedFamily())


def test_every_public_proposer_has_a_row():
    classes = {getattr(proposers, name) for name in proposers.__all__}
    assert classes == {type(each) for each in PROPOSERS.values()}
    assert {type(each) for each in DEFAULT_PROPOSERS} <= classes


@pytest.mark.parametrize("name", PROPOSERS)
def test_its_draws_leave_the_evidence_right(name):
    """A density that is not normalized, or a point that was not drawn from it, would bias this."""
    result = run(beside_the_family(name), max_evals=2_000)
    assert abs(result.log_evidence) < 0.1
    assert result.pool_weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", PROPOSERS)
def test_a_run_with_it_resumes_bit_for_bit(name, tmp_path):
    def interrupt(iteration):
        if iteration.index == 4:
            raise KeyboardInterrupt

    settings = {"num_particles": 20, "max_evals": 400, "checkpoint": tmp_path / "run.ckpt"}
    whole = run(beside_the_family(name), num_particles=20, max_evals=400)
    run(beside_the_family(name), **settings, callback=interrupt)
    resumed = run(beside_the_family(name), **settings)
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    np.testing.assert_array_equal(resumed.pool_weights, whole.pool_weights)


OF_DEFAULT = [name for name, each in PROPOSERS.items() if each in DEFAULT_PROPOSERS and each != FittedFamily()]


@pytest.mark.parametrize("name", OF_DEFAULT)
def test_the_default_does_without_it(name):
    rest = tuple(each for each in DEFAULT_PROPOSERS if type(each) is not type(PROPOSERS[name]))
    assert len(rest) == len(DEFAULT_PROPOSERS) - 1
    result = run(rest, max_evals=800)
    assert result.particles.shape == (50, 2)
    assert not any(PROPOSERS[name].name in each for each in result.trace["proposers"])
