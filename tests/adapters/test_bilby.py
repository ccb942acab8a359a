"""The plug-in for bilby: evidence and posterior are right, and what bilby's users expect of a sampler holds."""

import logging

import numpy as np
import pytest
from scipy import special

bilby = pytest.importorskip("bilby", reason="bilby is not installed")
from bilby.core.prior import (  # noqa: E402
    ConditionalPriorDict,
    ConditionalUniform,
    Constraint,
    DiscreteValues,
    MultivariateGaussian,
    MultivariateGaussianDist,
    Normal,
    PriorDict,
    Uniform,
)
from bilby.core.utils.random import Generator  # noqa: E402

import steinbox as sb  # noqa: E402
from steinbox.adapters.bilby import _Prior  # noqa: E402


class Likelihood(bilby.Likelihood):
    """Any function of a dictionary."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def log_likelihood(self, parameters=None):
        return self.function(parameters)


@pytest.fixture
def run(tmp_path):
    def run_sampler(function, priors, **settings):
        settings = {"outdir": str(tmp_path), "label": "run", "save": False, "seed": 1, "max_evals": 2_000} | settings
        return bilby.run_sampler(Likelihood(function), priors, sampler="steinbox", **settings)

    return run_sampler


def test_bilby_knows_steinbox():
    assert "steinbox" in bilby.core.sampler.get_implemented_samplers()


def test_evidence_and_posterior_are_right(run, tmp_path):
    def log_likelihood(p):
        return -0.5 * (p["slope"] - 1.0) ** 2 / 0.1**2 + 4 * np.cos(p["phase"]) + p["level"]

    priors = {"slope": Normal(0, 1), "phase": Uniform(0, 2 * np.pi, boundary="periodic"), "level": -3.0}
    result = run(log_likelihood, priors)
    variance = 1 / (1 + 1 / 0.1**2)
    exact = -0.5 / (1 + 0.1**2) + 0.5 * np.log(variance) + np.log(special.i0(4.0)) - 3.0
    assert 0 < result.log_evidence_err < 0.1
    assert abs(result.log_evidence - exact) < 4 * result.log_evidence_err
    assert result.posterior["slope"].mean() == pytest.approx(variance / 0.1**2, abs=0.02)
    assert result.posterior["slope"].std() == pytest.approx(variance**0.5, rel=0.1)
    assert np.cos(result.posterior["phase"]).mean() == pytest.approx(special.i1(4.0) / special.i0(4.0), abs=0.02)
    assert 0.4 < (result.posterior["phase"] < np.pi).mean() < 0.6  # the mode lies on both sides of the ends
    assert (result.posterior["level"] == -3.0).all()
    at_first = log_likelihood(result.posterior.iloc[0])
    assert result.posterior["log_likelihood"][0] == pytest.approx(at_first)
    assert result.num_likelihood_evaluations == 2_000
    assert result.meta_data["steinbox"]["version"] == sb.__version__
    assert list(tmp_path.iterdir()) == []  # the checkpoint is gone: the run is complete


def test_a_constraint_cuts_off_a_part_of_the_prior(run):
    def add_sum(p):
        return {**p, "sum": p["a"] + p["b"]}

    priors = PriorDict({"a": Uniform(0, 1), "b": Uniform(0, 1), "sum": Constraint(0, 0.5)}, conversion_function=add_sum)
    result = run(lambda p: 0.0, priors, max_evals=1_000)
    assert (result.posterior["a"] + result.posterior["b"] <= 0.5).all()
    assert abs(result.log_evidence - np.log(0.125)) < 4 * result.log_evidence_err


def conditional():
    def below(reference, first):
        return {"minimum": reference["minimum"], "maximum": first}

    return ConditionalPriorDict(
        {"first": Uniform(1, 3), "second": ConditionalUniform(condition_func=below, minimum=0, maximum=3)},
    )


def joint():
    both = MultivariateGaussianDist(["first", "second"], mus=[1.0, 2.0], covs=[[1.0, 0.6], [0.6, 2.0]])
    return PriorDict({"first": MultivariateGaussian(both, "first"), "second": MultivariateGaussian(both, "second")})


@pytest.mark.parametrize("priors", [conditional(), joint()], ids=["conditional", "joint"])
def test_priors_that_depend_on_each_other(priors):
    prior, before = _Prior.of(priors, ["first", "second"]), Generator.rng
    draws = prior.rvs(2_000, np.random.default_rng(0))
    np.testing.assert_array_equal(draws, prior.rvs(2_000, np.random.default_rng(0)))
    assert Generator.rng is before
    expected = [priors.ln_prob({"first": a, "second": b}) for a, b in draws[:5].tolist()]
    np.testing.assert_allclose(prior.logpdf(draws[:5]), expected)
    if isinstance(priors, ConditionalPriorDict):
        assert prior.bounds == [(1.0, 3.0), None]
        assert prior.logpdf(np.array([[2.0, 1.0]])) == pytest.approx(-np.log(2 * 2.0))
        assert prior.logpdf(np.array([[2.0, 2.5]])) == -np.inf
    else:
        assert np.corrcoef(draws.T)[0, 1] == pytest.approx(0.6 / 2**0.5, abs=0.06)


def test_independent_priors_at_once_are_those_one_by_one():
    priors = PriorDict({"a": Normal(0, 2), "b": Uniform(0, 5)})
    points = np.array([[0.5, 1.0], [3.0, 4.9], [0.0, 6.0]])
    expected = [priors.ln_prob({"a": a, "b": b}) for a, b in points.tolist()]
    np.testing.assert_allclose(_Prior.of(priors, ["a", "b"]).logpdf(points), expected)


def test_a_discrete_prior_is_refused(run):
    with pytest.raises(TypeError, match="expected a continuous prior for 'n'"):
        run(lambda p: 0.0, {"n": DiscreteValues([1, 2, 3]), "a": Normal(0, 1)})


def test_names_that_bilby_knows_are_understood_and_others_are_said(run, monkeypatch, caplog):
    monkeypatch.setattr(logging.getLogger("bilby"), "propagate", True)
    settings = {"seed": None, "max_evals": 400, "nlive": 1000, "check_point_deltaT": 60, "num_draws": 50}
    del settings["seed"]
    result = run(lambda p: -0.5 * p["a"] ** 2, {"a": Normal(0, 1)}, **settings)
    assert "Supplied argument 'nlive' not an argument of 'Steinbox'" in caplog.text
    assert result.sampler_kwargs["check_point_delta_t"] == 60
    assert len(result.posterior) == 50


def test_a_run_that_is_stopped_can_be_resumed(run, tmp_path):
    calls = []

    def log_likelihood(p):
        calls.append(p)
        if len(calls) == 900:
            raise KeyboardInterrupt
        return -0.5 * (p["a"] ** 2 + p["b"] ** 2) / 0.2**2

    priors = {"a": Normal(0, 1), "b": Normal(0, 1)}
    with pytest.raises(SystemExit, match="130"):
        run(log_likelihood, priors, check_point_delta_t=0)
    assert (tmp_path / "run_steinbox.ckpt").exists()
    resumed = run(log_likelihood, priors, check_point_delta_t=0)
    assert not (tmp_path / "run_steinbox.ckpt").exists()
    whole = run(log_likelihood, priors)
    assert resumed.log_evidence == whole.log_evidence
    np.testing.assert_array_equal(resumed.samples, whole.samples)
    assert len(calls) < 2 * 2_000 + 4 * 101 + 900
