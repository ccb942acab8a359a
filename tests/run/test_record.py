"""What is kept of the way: particles, and what moved them."""

import numpy as np
import pytest

import steinbox as sb

START = sb.Gaussian([0.0, 0.0], std=2.0)
SURROGATE = sb.Gaussian([0.5, 0.0], std=1.5)


def log_prob(x):
    return -0.5 * ((x - 1.0) ** 2).sum(axis=1)


def run(method, **more):
    settings = {"num_particles": 20, "max_evals": 400, "vectorized": True, "record": 20, "seed": 0}
    return sb.sample(log_prob, START, method=method, **settings | more)


def test_the_forces_are_those_of_the_moves(tmp_path):
    result = run(sb.GFSVGD(surrogate=SURROGATE, rescue=False))
    for record in (result.record, sb.Result.load(result.save(tmp_path / "run.npz")).record):
        weights, particles = record.forces["importance_weights"], record.particles
        ratio = np.exp([SURROGATE.log_prob(x) - log_prob(x) for x in particles])
        np.testing.assert_allclose(weights, ratio / ratio.sum(axis=1, keepdims=True), rtol=1e-10)
        np.testing.assert_allclose(record.forces["score"], [SURROGATE.score(x) for x in particles], rtol=1e-10)
        np.testing.assert_allclose(particles[:-1] + record.forces["step"][:-1], particles[1:], rtol=1e-10)


def test_a_run_that_is_resumed_has_them_too(tmp_path):
    def interrupt(iteration):
        if iteration.index == 5:
            raise KeyboardInterrupt

    path = tmp_path / "run.ckpt"
    run(sb.AnnealedGFSVGD(), checkpoint=path, callback=interrupt)
    resumed, whole = run(sb.AnnealedGFSVGD(), checkpoint=path).record, run(sb.AnnealedGFSVGD()).record
    for name, values in whole.forces.items():
        np.testing.assert_array_equal(resumed.forces[name], values)


@pytest.mark.parametrize("method", [None, sb.baselines.SMC()], ids=["default", "SMC"])
def test_methods_without_forces_have_none(method):
    record = run(method).record
    assert record.forces == {}
    assert len(record) > 2
