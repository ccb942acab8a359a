"""Derived quantities: what a function returns beside its log-density is kept, wherever it runs."""

import numpy as np
import pytest
from scipy import stats

import steinbox as sb
from steinbox.evaluation import Archive, Calls, Evaluator, TargetError

START = sb.Gaussian([1.0, 1.0], std=1.0)
BOUNDS = [(0, None), (-5, 5)]
SMALL = {"num_particles": 30, "max_evals": 1_000, "seed": 0}


def with_sum(x):
    return -0.5 * float(x @ x), {"sum": x[0] + x[1], "path": [x[0], 2 * x[0], x[1]]}


def rows_with_sum(x):
    return -0.5 * (x**2).sum(axis=1), {"sum": x.sum(axis=1), "path": np.column_stack([x[:, 0], 2 * x[:, 0], x[:, 1]])}


def assert_derived(result):
    for points, derived in ((result.particles, result.derived), (result.pool, result.pool_derived)):
        np.testing.assert_allclose(derived["sum"], points.sum(axis=1))
        np.testing.assert_allclose(derived["path"], points[:, [0, 0, 1]] * [1, 2, 1])


METHODS = {
    "default": None,
    "stein": sb.AnnealedGFSVGD(num_iterations=10),
    "metropolis": sb.baselines.AdaptiveMetropolis(num_iterations=20),
    "smc": sb.baselines.SMC(),
}


@pytest.mark.parametrize("bounds", [None, BOUNDS, [sb.Periodic(0, 3), None]], ids=["free", "bounded", "angle"])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_particle_has_what_was_derived_there(method, bounds):
    result = sb.sample(with_sum, START, bounds=bounds, method=method, **SMALL)
    assert_derived(result)
    assert result.archive.derived["path"].shape == (len(result.archive), 3)


@pytest.mark.parametrize("executor", [None, 1])
def test_wherever_it_runs(executor):
    plain = sb.sample(lambda x: with_sum(x)[0], START, **SMALL)
    for function, vectorized in ((with_sum, False), (rows_with_sum, True)):
        result = sb.sample(function, START, executor=executor, vectorized=vectorized, **SMALL)
        np.testing.assert_allclose(result.particles, plain.particles)
        assert_derived(result)


def test_saved_loaded_and_resumed(tmp_path):
    def interrupt(iteration):
        if iteration.index == 3:
            raise KeyboardInterrupt

    whole = sb.sample(with_sum, START, bounds=BOUNDS, **SMALL)
    loaded = sb.Result.load(whole.save(tmp_path / "run.npz"))
    path = tmp_path / "run.ckpt"
    sb.sample(with_sum, START, bounds=BOUNDS, checkpoint=path, callback=interrupt, **SMALL)
    resumed = sb.sample(with_sum, START, bounds=BOUNDS, checkpoint=path, **SMALL)
    archive = Archive.load(whole.archive.save(tmp_path / "archive.npz"))
    for name in ("sum", "path"):
        np.testing.assert_array_equal(loaded.derived[name], whole.derived[name])
        np.testing.assert_array_equal(resumed.derived[name], whole.derived[name])
        np.testing.assert_array_equal(resumed.archive.derived[name], whole.archive.derived[name])
        np.testing.assert_array_equal(archive.derived[name], whole.archive.derived[name])


def test_a_function_without_any_has_none():
    result = sb.sample(lambda x: -0.5 * float(x @ x), START, **SMALL)
    assert result.derived == result.pool_derived == result.archive.derived == {}


def test_outside_the_support_there_may_be_none():
    def half(x):
        return with_sum(x) if x[0] > 0 else -np.inf

    result = sb.sample(half, START, **SMALL)
    outside = result.archive.points[:, 0] <= 0
    assert outside.any()
    np.testing.assert_array_equal(np.isnan(result.archive.derived["sum"]), outside)
    assert not np.isnan(result.derived["path"]).any()
    assert result.warnings == ()


def test_another_shape_is_nan_and_warned_of():
    def ragged(x):
        return -0.5 * float(x @ x), {"path": np.ones(3 if x[0] > 0 else 2)}

    result = sb.sample(
        ragged,
        np.array([[1.0, 1.0], [-1.0, 2.0], *np.random.default_rng(0).normal(size=(28, 2))]),
        max_evals=1_000,
        seed=0,
        method=sb.GFSVGD(num_iterations=3),
    )
    np.testing.assert_array_equal(np.isnan(result.archive.derived["path"][:, 0]), result.archive.points[:, 0] <= 0)
    assert any("The derived quantity 'path' does not always have the shape" in warning for warning in result.warnings)


@pytest.mark.parametrize("bad", [{"r0": "high"}, {"r0": [1, [2, 3]]}, {3: 1.0}, {"r0": 1j}], ids=str)
def test_what_is_no_number_fails(bad):
    with pytest.raises(TargetError, match="expected numbers as the derived quantity"):
        Evaluator(Calls(lambda x: (0.0, bad)), max_evals=100)(np.zeros((4, 2)))


def test_a_vectorized_function_returns_a_row_for_each_point():
    with pytest.raises(TargetError, match=r"expected 4 rows of the derived quantity 'r0', got shape \(2,\)"):
        Evaluator(Calls(lambda x: (x[:, 0], {"r0": np.ones(2)}), vectorized=True), max_evals=100)(np.zeros((4, 2)))


def test_a_failed_particle_has_none():
    def fails(x):
        if x[0] > 1:
            raise ValueError("too large")
        return with_sum(x)

    result = sb.sample(fails, START, method=sb.GFSVGD(surrogate=START, num_iterations=2), num_particles=30, seed=0)
    failed = np.isinf(result.log_prob)
    assert failed.any()
    np.testing.assert_array_equal(np.isnan(result.derived["sum"]), failed)


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_model_keeps_its_likelihood(vectorized):
    data = np.array([0.2, 1.4, 0.9])
    prior = {"mean": stats.norm(0, 2), "sd": stats.expon()}

    def pointwise(p):
        mean, sd = np.expand_dims(p["mean"], -1), np.expand_dims(p["sd"], -1)
        return stats.norm.logpdf(data, mean, sd)

    total = sb.sample(sb.Model(lambda p: pointwise(p).sum(axis=-1), prior=prior), vectorized=vectorized, **SMALL)
    log_prior = prior["mean"].logpdf(total.particles[:, 0]) + prior["sd"].logpdf(total.particles[:, 1])
    np.testing.assert_allclose(total.derived["log_likelihood"], total.log_prob - log_prior)

    def likelihood(p):
        terms = pointwise(p)
        return terms.sum(axis=-1), {"log_likelihood": terms, "cv": p["sd"] / p["mean"]}

    each = sb.sample(sb.Model(likelihood, prior=prior), vectorized=vectorized, **SMALL)
    np.testing.assert_allclose(each.particles, total.particles)
    np.testing.assert_allclose(each.derived["log_likelihood"].sum(axis=1), total.derived["log_likelihood"])
    np.testing.assert_allclose(each.derived["cv"], each.particles[:, 1] / each.particles[:, 0])


def test_points_that_were_not_evaluated_have_none():
    archive = Archive(np.eye(3), np.zeros(3), np.zeros(3), {"r0": np.arange(3.0)})
    np.testing.assert_array_equal(archive.find(np.array([[0, 1, 0], [0.5, 0.5, 0]]))["r0"], [1, np.nan])
    with pytest.raises(ValueError, match="3 rows of each derived quantity"):
        Archive(np.eye(3), np.zeros(3), np.zeros(3), {"r0": np.arange(2.0)})


def test_a_resumed_run_knows_the_shapes():
    calls = Calls(lambda x: (0.0, {"path": np.ones(3 if x[0] > 0 else 2)}))
    before = Evaluator(calls, max_evals=100)
    before(np.ones((2, 1)))
    after = Evaluator(calls, max_evals=100)
    after.restore(before.account, before.archive)
    after(np.array([[-1.0], [1.0]]))
    np.testing.assert_array_equal(np.isnan(after.archive.derived["path"][:, 0]), [False, False, True, False])
    assert after.odd_quantities == {"path"}
