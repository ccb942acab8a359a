"""The log-evidence comes from draws that taught their own density nothing."""

from __future__ import annotations

import numpy as np
import pytest

import steinbox as sb
from steinbox.samplers.adaptive.evidence import estimate_evidence
from steinbox.samplers.adaptive.state import AdaptiveState, Batch, Milestone
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive

START = sb.Gaussian(np.zeros(10), std=3.0)
TARGET = sb.Gaussian(np.linspace(-1, 1, 10), std=np.linspace(0.5, 1.5, 10))
SMALL = sb.Gaussian([0.0], std=1.0)


def state_of(*sources: Source, tempering: float = 1.0, seed: int = 0) -> AdaptiveState:
    """Draws of these sources of exp(2) times a standard normal density, and two milestones."""
    rng, archive = np.random.default_rng(seed), WeightedArchive.empty(1)
    for source in sources:
        points = source.density.sample(source.count, rng)
        archive = archive.extend(points, 2 + SMALL.log_prob(points), [source], SMALL)
    ends = sources[0].count, len(archive)
    path = tuple(Milestone(end, tempering, 2.5, 50.0) for end in ends)
    return AdaptiveState(archive, Batch.nothing(1), len(archive), path=path)


def test_it_is_not_too_low_though_the_weights_of_all_points_are():
    """Twelve short runs in ten dimensions: the sum of all weights is .036 too low, ten times as far off."""
    results = [
        sb.sample(TARGET.log_prob, START, vectorized=True, num_particles=50, max_evals=1_000, seed=seed)
        for seed in range(12)
    ]
    errors = np.array([result.log_evidence for result in results])
    scores = errors / [result.log_evidence_error for result in results]
    assert abs(scores.mean()) < 0.7
    assert (abs(scores) < 3).all()
    assert abs(errors.mean()) < 0.015
    of_all_points = np.array([result.trace["log_evidence"][-1] for result in results])
    assert of_all_points.mean() < -0.02


def test_draws_of_the_target_itself_are_without_error():
    found, error = estimate_evidence(state_of(Source("fit", SMALL, 100, step=1)), SMALL, min_power=0.9)
    assert found == pytest.approx(2.0, abs=1e-12)
    assert error == pytest.approx(0.0, abs=1e-12)


def test_draws_of_a_step_are_weighted_by_all_densities_of_it_whenever_they_come_back():
    """Half of the draws of a narrow density come later than all of a wide one: each alone would be wrong."""
    narrow, wide = sb.Gaussian([0.0], std=0.2), sb.Gaussian([0.0], std=3.0)
    parts = (
        Source("narrow", narrow, 500, step=1),
        Source("wide", wide, 1000, step=1),
        Source("narrow", narrow, 500, step=1),
    )
    found = [estimate_evidence(state_of(*parts, seed=seed), SMALL, min_power=0.9) for seed in range(20)]
    scores = np.array([(value - 2) / error for value, error in found])
    assert abs(scores.mean()) < 0.7
    assert 0.5 < scores.std() < 1.6


def test_only_recent_draws_that_compete_count():
    """A look at one place, and a density fitted to few points, say nothing of the integral."""
    off = sb.Gaussian([5.0], std=0.1)
    exact = Source("fit", SMALL, 400, step=2)
    for misleading in (Source("scan", off, 300), Source("fit", off, 100, step=1)):
        found, _ = estimate_evidence(state_of(misleading, exact), SMALL, min_power=0.9)
        assert found == pytest.approx(2.0, abs=1e-12)


def test_with_uneven_weights_it_is_that_of_all_points_and_says_what_the_second_half_changed():
    state = state_of(Source("fit", SMALL, 100, step=1), Source("fit", SMALL, 300, step=2), tempering=0.5)
    state = AdaptiveState(state.archive, state.next, 400, path=(Milestone(100, 0.5, 1.0, 9.0), state.path[-1]))
    found, error = estimate_evidence(state, SMALL, min_power=0.9)
    assert found == 2.5
    assert error == pytest.approx(np.sqrt(1 / 50 - 1 / 400 + 1.5**2))
