"""Models in a run: posterior and evidence in closed form, parameters by name and held, wherever a function may run."""

import sys

import numpy as np
import pytest
from scipy import stats

import steinbox as sb

DATA = np.array([1.2, 0.3, 2.1, 1.7])
SMALL = {"num_particles": 50, "max_evals": 800, "seed": 0}


def log_likelihood(p):
    return float(stats.norm.logpdf(DATA, p["mean"], 1.0).sum())


def log_likelihoods(p):
    return stats.norm.logpdf(DATA, p["mean"][:, None], 1.0).sum(axis=1)


PRIOR = {"mean": stats.norm(0, 2)}
MODEL = sb.Model(log_likelihood, prior=PRIOR)
PRECISION = 1 / 4 + len(DATA)
EVIDENCE = stats.multivariate_normal(np.zeros(4), np.eye(4) + 4 * np.ones((4, 4))).logpdf(DATA)


def test_posterior_and_evidence_of_a_normal_mean():
    result = sb.sample(MODEL, num_particles=200, max_evals=5_000, seed=0)
    assert result.names == ("mean",)
    assert result.mean[0] == pytest.approx(DATA.sum() / PRECISION, abs=0.02)
    assert np.sqrt(result.cov[0, 0]) == pytest.approx(PRECISION**-0.5, rel=0.05)
    assert result.log_evidence == pytest.approx(EVIDENCE, abs=4 * result.log_evidence_error)
    np.testing.assert_allclose(result.log_prob, [MODEL(row) for row in result.particles], rtol=1e-12)


def test_posterior_and_evidence_of_a_rate():
    """Exponential waiting times with a gamma prior: another gamma; the prior's support is the rate's bound."""
    prior = {"rate": stats.gamma(2, scale=1 / 3)}
    model = sb.Model(lambda p: len(DATA) * np.log(p["rate"]) - p["rate"] * DATA.sum(), prior=prior)
    result = sb.sample(model, num_particles=200, max_evals=5_000, seed=0)
    exact = stats.gamma(2 + len(DATA), scale=1 / (3 + DATA.sum()))
    assert result.mean[0] == pytest.approx(exact.mean(), rel=0.02)
    ratio = stats.gamma(2, scale=1 / 3).logpdf(1.0) + len(DATA) * 0 - DATA.sum() - exact.logpdf(1.0)
    assert result.log_evidence == pytest.approx(ratio, abs=4 * result.log_evidence_error)


@pytest.mark.parametrize("executor", [None, 1])
def test_vectorized_and_elsewhere_it_is_the_same(executor):
    one = sb.sample(MODEL, **SMALL)
    rows = sb.sample(sb.Model(log_likelihoods, prior=PRIOR), vectorized=True, executor=executor, **SMALL)
    np.testing.assert_allclose(rows.particles, one.particles)
    np.testing.assert_array_equal(sb.sample(MODEL, executor=executor, **SMALL).particles, one.particles)


def test_the_likelihood_is_called_inside_the_support_only():
    seen = []
    prior = {("a", "b"): stats.multivariate_normal([0, 0]), "c": stats.uniform(2, 3)}

    def likelihood(p):
        seen.append(p["c"])
        return -(p["a"] ** 2)

    sb.sample(sb.Model(likelihood, prior=prior), [stats.norm(), stats.norm(), stats.norm(2, 1)], **SMALL)
    assert 2 < min(seen) < max(seen) < 5


class Disc:
    """Uniform on a disc: a joint prior with a support that no bounds describe."""

    dimension = 2

    def sample(self, num_points, rng):
        angle, radius = rng.uniform(0, 2 * np.pi, num_points), np.sqrt(rng.uniform(0, 1, num_points))
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    def log_prob(self, points):
        return np.where((points**2).sum(axis=1) < 1, -np.log(np.pi), -np.inf)

    def score(self, points):
        return np.zeros_like(points)


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_support_without_bounds_is_kept(vectorized):
    def likelihood(p):
        assert np.all(p["a"] ** 2 + p["b"] ** 2 < 1)
        return 0.0 * p["a"]

    model = sb.Model(likelihood, prior={("a", "b"): Disc()})
    start = sb.Gaussian([0.0, 0.0], std=1.0)
    result = sb.sample(model, start, vectorized=vectorized, **SMALL)
    assert result.num_failures == 0
    assert result.log_evidence == pytest.approx(0, abs=4 * result.log_evidence_error + 1e-3)


def test_the_score_is_that_of_the_posterior():
    method = sb.AnnealedSVGD(num_iterations=200)

    def score(p):
        return {"mean": np.sum(DATA - p["mean"])}

    result = sb.sample(MODEL, method=method, score=score, num_particles=50, seed=0)
    assert result.mean[0] == pytest.approx(DATA.sum() / PRECISION, abs=0.02)


def test_noise_and_generators():
    def estimate(p, rng):
        return log_likelihood(p) + 0.1 * rng.standard_normal()

    one, two = (sb.sample(sb.Model(estimate, prior=PRIOR), noise=0.1, executor=e, **SMALL) for e in (None, 1))
    np.testing.assert_array_equal(one.particles, two.particles)


def test_a_model_is_resumed(tmp_path):
    def interrupt(iteration):
        if iteration.index == 4:
            raise KeyboardInterrupt

    whole = sb.sample(MODEL, **SMALL)
    assert sb.sample(MODEL, checkpoint=tmp_path / "a", callback=interrupt, **SMALL).status is sb.Status.INTERRUPTED
    with pytest.raises(sb.CheckpointError, match="another run"):
        sb.sample(sb.Model(log_likelihood, prior={"mean": stats.norm(0, 3)}), checkpoint=tmp_path / "a", **SMALL)
    np.testing.assert_array_equal(sb.sample(MODEL, checkpoint=tmp_path / "a", **SMALL).particles, whole.particles)


def test_an_error_of_the_likelihood_is_the_user_s(tmp_path):
    with pytest.raises(sb.TargetError, match="KeyError: 'men' .line .* of .*test_model.py") as caught:
        sb.sample(sb.Model(lambda p: p["men"], prior=PRIOR), **SMALL)
    assert "steinbox/model" not in caught.value.__notes__[0]


# -- parameters that are held ------------------------------------------------------------------------------------------


def line(p):
    return -0.5 * (p["slope"] - 2) ** 2 - 0.5 * (p["level"] - p["n"]) ** 2


def line_of_array(x):
    return -0.5 * (x[0] - 2) ** 2 - 0.5 * (x[1] - x[2]) ** 2


LINE = {"slope": stats.norm(0, 5), "level": stats.norm(0, 5), "n": stats.norm(0, 5)}
NAMES = ("slope", "level", "n")
STARTS = {
    "gaussian": sb.Gaussian([0, 0, 9], std=[5, 5, 1]),
    "list": [stats.norm(0, 5), stats.norm(0, 5), stats.norm(9, 1)],
    "of the free": sb.Gaussian([0, 0], std=5),
    "by name": {"slope": stats.norm(0, 5), "level": stats.norm(0, 5), "n": stats.norm(9, 1)},
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("by_name", [False, True])
def test_a_parameter_is_held_whatever_the_function_takes(start, by_name, tmp_path):
    function = line if by_name else line_of_array
    result = sb.sample(function, start, names=NAMES, fixed={"n": 3}, by_name=by_name, **SMALL)
    assert result.names == ("slope", "level")
    assert result.constants == {"n": 3}
    np.testing.assert_allclose(result.mean, [2, 3], atol=0.15)
    assert sb.Result.load(result.save(tmp_path / "run.npz")).constants == {"n": 3}


def test_a_prior_loses_what_is_held_and_a_function_may_be_given_more():
    result = sb.sample(sb.Model(line, prior=LINE), fixed={"n": 3}, **SMALL)
    held = sb.sample(
        sb.Model(lambda p: line(p | {"n": 3}), prior={"slope": LINE["slope"], "level": LINE["level"]}), **SMALL
    )
    np.testing.assert_array_equal(result.particles, held.particles)
    others = {"slope": LINE["slope"], "level": LINE["level"]}
    more = sb.sample(sb.Model(line, prior=others), fixed={"n": np.int64(3)}, **SMALL)
    np.testing.assert_array_equal(result.particles, more.particles)
    assert more.constants == {"n": 3}


def test_particles_and_bounds_of_all_parameters_lose_the_one_that_is_held():
    particles = np.random.default_rng(0).normal(size=(50, 3))
    settings = {"names": NAMES, "fixed": {"n": 3}, "max_evals": 2_000, "seed": 0}
    bounds = [(-20, 20), (0, None), (7, 8)]
    particles[:, 1:] = abs(particles[:, 1:])
    result = sb.sample(line_of_array, particles, bounds=bounds, **settings)
    assert result.bounds.to_json() == [[-20.0, 20.0], [0.0, None]]
    named = sb.sample(line_of_array, particles, bounds={"level": (0, None)}, **settings)
    assert named.bounds.to_json() == [None, [0.0, None]]


def test_a_start_by_name_is_in_the_order_of_the_names():
    start = {"n": stats.norm(100, 1), "level": stats.norm(10, 1), "slope": stats.norm(1, 1)}
    first = []

    def seen(x):
        first.append(x)
        return line_of_array(x)

    sb.sample(seen, start, names=NAMES, **SMALL)
    np.testing.assert_allclose(np.median(first[:50], axis=0), [1, 10, 100], atol=1)
    model = sb.Model(line, prior={"slope": LINE["slope"], "level": LINE["level"]})
    result = sb.sample(model, {"level": stats.norm(3, 1), "slope": stats.norm(2, 1)}, fixed={"n": 3}, **SMALL)
    np.testing.assert_allclose(result.mean, [2, 3], atol=0.2)


def test_rows_by_name_are_arrays():
    shapes = set()

    def rows(p):
        shapes.add((np.ndim(p["slope"]), np.ndim(p["n"])))
        return line(p)

    one = sb.sample(line, STARTS["of the free"], names=NAMES, fixed={"n": 3}, by_name=True, **SMALL)
    all_at_once = sb.sample(
        rows, STARTS["of the free"], names=NAMES, fixed={"n": 3}, by_name=True, vectorized=True, **SMALL
    )
    assert shapes == {(1, 0)}
    np.testing.assert_allclose(all_at_once.particles, one.particles)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"fixed": {"m": 3}, "names": NAMES}, ValueError, r"fixed= names \['m'\], which are not among the parameters"),
        ({"fixed": {"n": "3"}, "names": NAMES}, ValueError, "to hold numbers for a function of an array, got"),
        ({"fixed": {"n": 3}}, ValueError, "need names="),
        ({"by_name": True}, ValueError, "need names="),
        ({"fixed": [3], "names": NAMES}, TypeError, 'expected fixed to be a dictionary such as {"n": 3}'),
        ({"fixed": dict.fromkeys(NAMES, 1.0), "names": NAMES}, ValueError, "holds all parameters"),
        ({"bounds": {"m": (0, 1)}, "names": NAMES}, ValueError, r"bounds= names \['m'\]"),
        ({"initial": {"a": stats.norm()}, "names": NAMES}, ValueError, r"for \['slope', 'level', 'n'\], got \['a'\]"),
        (
            {"initial": {("n", "slope"): stats.multivariate_normal([0, 0]), "level": stats.norm()}, "names": NAMES},
            ValueError,
            "those of a joint one side by side",
        ),
        (
            {"fixed": {"n": 3}, "names": NAMES, "initial": sb.GaussianMixture([STARTS["gaussian"]])},
            ValueError,
            "in the 2 dimensions that fixed= leaves free, got 3",
        ),
    ],
)
def test_nonsense_is_refused_in_words(settings, error, message):
    with pytest.raises(error, match=message):
        sb.sample(line_of_array, **({"initial": STARTS["gaussian"]} | settings))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"names": ["a"]}, ValueError, "those of its prior and its support: leave names= and bounds= out"),
        ({"bounds": [(0, 1)]}, ValueError, "leave names= and bounds= out"),
        ({"fixed": {"mean": 1.0}}, ValueError, "holds all parameters"),
    ],
)
def test_nonsense_about_a_model_is_refused_in_words(settings, error, message):
    with pytest.raises(error, match=message):
        sb.sample(MODEL, **settings)


def test_one_of_a_joint_prior_cannot_be_held():
    model = sb.Model(lambda p: 0.0, prior={("a", "b"): stats.multivariate_normal([0, 0])})
    with pytest.raises(ValueError, match=r"holds \['a'\], which have a joint prior with others"):
        sb.sample(model, fixed={"a": 1.0})


def test_a_checkpoint_knows_what_is_held(tmp_path):
    settings = {"names": NAMES, "checkpoint": tmp_path / "run.ckpt"} | SMALL
    sb.sample(line_of_array, STARTS["gaussian"], fixed={"n": 3}, **settings)
    with pytest.raises(sb.CheckpointError, match="fixed: n was 3 and is 4"):
        sb.sample(line_of_array, STARTS["gaussian"], fixed={"n": 4}, **settings)


def test_a_start_of_the_new_interface():
    new = sb.sample(line_of_array, [stats.Normal(mu=0.0, sigma=3.0), stats.norm(), stats.Normal()], **SMALL)
    assert new.particles.shape == (50, 3)
    one = sb.sample(lambda x: -0.5 * x[0] ** 2, stats.Normal(mu=0.0, sigma=3.0), **SMALL)
    assert one.particles.shape == (50, 1)


# -- other methods, other functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [sb.baselines.SMC(), sb.baselines.AdaptiveMetropolis(num_iterations=60), sb.AnnealedGFSVGD(num_iterations=60)],
    ids=["smc", "metropolis", "stein"],
)
def test_every_method_samples_a_model(method):
    """Bounded, so that the prior is the start of the free parameters."""
    prior = {"rate": stats.gamma(2, scale=1 / 3), "mean": stats.norm(0, 2)}
    total = len(DATA), DATA.sum()
    model = sb.Model(lambda p: total[0] * np.log(p["rate"]) - p["rate"] * total[1] + log_likelihood(p), prior=prior)
    result = sb.sample(model, method=method, num_particles=100, max_evals=6_100, seed=0)
    exact = stats.gamma(2 + total[0], scale=1 / (3 + total[1]))
    spread = [exact.std(), PRECISION**-0.5]
    np.testing.assert_allclose(result.mean, [exact.mean(), DATA.sum() / PRECISION], atol=0.3 * max(spread))


def test_a_program_is_a_likelihood_of_an_array():
    program = "import json, sys; x = json.load(sys.stdin); print(-0.5 * sum(value**2 for value in x))"
    likelihood = sb.adapters.Subprocess([sys.executable, "-S", "-c", program])
    model = sb.Model(likelihood, prior=[stats.norm(1, 1), stats.expon()], names=["a", "b"])
    settings = {"num_particles": 10, "max_evals": 20, "seed": 0}
    python = sb.sample(sb.Model(lambda x: -0.5 * sum(x**2), prior=[stats.norm(1, 1), stats.expon()]), **settings)
    np.testing.assert_allclose(sb.sample(model, **settings).log_prob, python.log_prob)
