"""Simulation-based calibration: the ranks see what is wrong, and the simulators draw from their own likelihoods."""

import numpy as np
import pytest
import ranks
from scipy import stats
from scipy.integrate import solve_ivp
from simulation_based import NUM_DRAWS, Task, run_task
from simulators import EVERY, NUM_DAYS, POPULATION, SIMULATORS, new_cases

NUM_RUNS = 200
every_simulator = pytest.mark.parametrize("name", SIMULATORS)


def conjugate(rng, scale=1.0, shift=0.0):
    """Ranks and shares for y ~ N(x, 1), x ~ N(0, 1), and a posterior N(y/2, 1/2) that is scaled or shifted."""
    truth = rng.standard_normal(NUM_RUNS)
    mean, sd = (truth + rng.standard_normal(NUM_RUNS)) / 2 + shift, scale * np.sqrt(0.5)
    draws = mean[:, None] + sd * rng.standard_normal((NUM_RUNS, NUM_DRAWS))
    return (draws < truth[:, None]).sum(axis=1), stats.norm.cdf(truth, mean, sd)


def test_the_exact_posterior_passes(rng):
    p_values = [ranks.p_value(conjugate(rng)[0], NUM_DRAWS) for _ in range(100)]
    assert np.mean(np.array(p_values) < 0.1) == pytest.approx(0.1, abs=0.09)  # three standard errors
    assert stats.kstest(p_values, "uniform").pvalue > 0.001


@pytest.mark.parametrize("wrong", [{"scale": 0.7}, {"scale": 1.5}, {"shift": 0.3}], ids=str)
def test_a_posterior_that_is_too_sure_or_unsure_or_elsewhere_fails(wrong, rng):
    assert ranks.p_value(conjugate(rng, **wrong)[0], NUM_DRAWS) < 0.001


def test_intervals_that_are_too_narrow_do_not_cover(rng):
    _, exact = conjugate(rng)
    _, narrow = conjugate(rng, scale=0.7)
    for level in (0.5, 0.9):
        share, low, high = ranks.covered(exact, level)
        assert low < level < high
        assert low < share < high
        assert ranks.covered(narrow, level)[2] < level


def test_bars_of_uniform_ranks_are_within_their_range(rng):
    low, high = ranks.bar_range(NUM_RUNS, 10)
    counts = rng.multinomial(NUM_RUNS, np.full(10, 0.1), 500)
    assert np.mean((counts >= low) & (counts <= high)) == pytest.approx(0.95, abs=0.03)


@every_simulator
def test_data_are_drawn_from_the_likelihood(name, rng):
    """The likelihood of other parameters over that of the true ones is one in the mean."""
    simulator = SIMULATORS[name]
    truth = simulator.draw(np.random.default_rng(3))
    pair = np.array([truth, 1.03 * truth])
    logs = np.array([simulator.log_likelihood(pair, simulator.simulate(truth, rng)) for _ in range(2_000)])
    ratios = np.exp(logs[:, 1] - logs[:, 0])
    assert ratios.std() > 0.005  # it is no test otherwise
    assert ratios.mean() == pytest.approx(1, abs=4 * ratios.std() / np.sqrt(2_000))


def test_the_hierarchys_own_prior_is_that_of_its_draws(rng):
    """The log-likelihood subtracted, a density remains under which drawn parameters satisfy Stein's identities."""
    simulator = SIMULATORS["hierarchy"]
    truths = np.array([simulator.draw(rng) for _ in range(4_000)])
    data = simulator.simulate(truths[0], rng)
    posterior, _ = simulator.posterior(data)

    def log_prior(points):
        return posterior(points) - simulator.log_likelihood(points, data)

    for j, shift in enumerate(1e-5 * np.eye(truths.shape[1])):
        score = (log_prior(truths + shift) - log_prior(truths - shift)) / 2e-5
        for terms in (score, truths[:, j] * score + 1):
            assert abs(terms.mean()) < 4.5 * terms.std() / np.sqrt(len(truths))


def test_the_epidemic_solves_its_equations():
    def slope(_, state):
        new = 0.4 * state[0] * state[1] / POPULATION
        return [-new, new - 0.15 * state[1]]

    times = np.arange(0, NUM_DAYS + EVERY, EVERY)
    exact = solve_ivp(slope, (0, NUM_DAYS), [POPULATION - 5, 5], t_eval=times, rtol=1e-10, atol=1e-8)
    found = new_cases(np.array([0.4]), np.array([0.15]), np.array([5.0]))
    assert found[0] == pytest.approx(-np.diff(exact.y[0]), rel=1e-4)


def test_a_run_has_a_rank_for_every_parameter_and_the_likelihood():
    row = run_task(Task("logistic", 600, 0))
    assert len(row.ranks.split()) == len(row.below.split()) == len(SIMULATORS["logistic"].parameters) + 1
    assert all(0 <= int(rank) <= NUM_DRAWS for rank in row.ranks.split())
    assert row.evaluations <= 602  # two are made again at the end, to see whether values stay the same
