"""Stein samplers say when their particles should not be trusted, and nothing when they should."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.samplers.stein.warnings import collect_warnings


def run(target, method, **settings):
    initial = sb.Gaussian(np.zeros(target.dimension), std=3.0)
    settings = {"num_particles": 100, "seed": 0, "vectorized": True, "score": target.score} | settings
    return sb.sample(target.log_prob, initial, method=method, **settings)


def test_few_particles_that_push_all_others():
    target = sb.Gaussian(np.zeros(5), std=1.0)
    poor = sb.GFSVGD(surrogate=sb.Gaussian(np.full(5, 3.0), std=0.7), num_iterations=60)
    assert any(
        "effective sample size of 1.0: a few particles push all others" in each for each in run(target, poor).warnings
    )
    close = sb.GFSVGD(surrogate=sb.Gaussian(np.full(5, 0.2), std=1.3), num_iterations=60)
    assert run(target, close).warnings == ()


def test_particles_that_ran_away():
    target = sb.Gaussian([0.0, 0.0], std=0.01)
    left = run(target, sb.GFSVGD(num_iterations=20, rescue=False))
    assert any("of 100 particles ran away" in each for each in left.warnings)
    assert run(sb.Gaussian([0.0, 0.0], std=1.0), sb.GFSVGD(num_iterations=60)).warnings == ()


@pytest.mark.parametrize(
    ("method", "target", "word"),
    [
        (
            sb.SVGD(num_iterations=150, coordinates=sb.coordinates.Plain()),
            sb.Gaussian(np.zeros(30), std=1.0),
            "narrower",
        ),
        (sb.AnnealedSVGD(num_iterations=100, base=sb.surrogates.Flat()), sb.Gaussian([0.0, 0.0], std=1.0), "wider"),
    ],
    ids=["many dimensions", "flat base, whitened coordinates"],
)
def test_a_spread_that_contradicts_the_score(method, target, word):
    result = run(target, method, num_particles=32)
    [warning] = [each for each in result.warnings if each.startswith(f"The particles are {word} than the target")]
    said = float(warning.split("their variance is ")[1].split()[0])
    assert said == pytest.approx(result.particles.var(axis=0).mean(), rel=0.1)


@pytest.mark.parametrize("name", ["Banana", "Funnel", "Ring", "StudentT"])
def test_exact_draws_are_silent(name):
    target = getattr(sb.targets, name)()
    for seed in range(5):
        x = target.sample(200, np.random.default_rng(seed))
        assert list(collect_warnings(x, target.log_prob(x), np.full(200, 1 / 200), target.score(x))) == []


def test_a_good_run_is_silent():
    assert run(sb.Gaussian([0.0, 0.0], std=1.0), sb.SVGD(num_iterations=150)).warnings == ()
    assert run(sb.Gaussian(np.zeros(5), std=1.0), sb.AnnealedGFSVGD(num_iterations=60)).warnings == ()


@pytest.mark.parametrize("method", [sb.SVGD, pytest.param(sb.GFSVGD, marks=pytest.mark.slow), sb.AnnealedGFSVGD])
@pytest.mark.parametrize(
    "target",
    [sb.targets.separated_modes(2, distance=3.0), pytest.param(sb.targets.StudentT(), marks=pytest.mark.slow)],
    ids=["modes", "t"],
)
def test_runs_that_beat_independent_draws_are_silent(method, target, rng):
    result = run(target, method(num_iterations=150), num_particles=60)
    exact = target.sample(2000, rng)
    assert sb.mmd(result.particles, exact) < sb.mmd(exact[:60], exact)
    assert result.warnings == ()
