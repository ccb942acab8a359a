"""Time series: an autoregression, GARCH, Markov switching, a differential equation."""

from __future__ import annotations

import numpy as np
from datasets import numbers, of_r, of_statsmodels, with_intercept
from posterior import Backend, Posterior, gamma_log, half_normal_log, logistic_density, normal, student


def ar_sunspots() -> Posterior:
    """An autoregression of order nine with Student-t errors; 309 years, in raw units."""
    series, order = numbers(of_statsmodels("sunspots"), "SUNACTIVITY"), 9
    lags = [series[order - k : len(series) - k] for k in range(1, order + 1)]
    design, outcome = with_intercept(np.column_stack(lags)), series[order:]

    def density(x, b: Backend):
        slopes, log_sd, log_dof = x[..., :10], x[..., 10:11], x[..., 11:12]
        errors = student(b, outcome, slopes @ design.T, b.np.exp(log_sd), b.np.exp(log_dof)).sum(-1)
        prior = normal(b, slopes, 0.0, np.array([100.0] + [2.0] * order)).sum(-1)
        return errors + prior + (normal(b, log_sd, 2.0, 2.0) + gamma_log(b, log_dof, 2.0, 0.1))[..., 0]

    start = [(0.0, 30.0), *[(0.0, 1.0)] * order, (3.0, 1.0), (2.0, 1.0)]
    return Posterior("ar_sunspots", "AR(9) with Student-t errors, sunspots (statsmodels)", density, start)


def garch_inflation() -> Posterior:
    """US inflation, an AR(1) whose variance follows GARCH(1, 1), with Student-t errors; 202 quarters."""
    series = numbers(of_statsmodels("macrodata"), "infl")
    rows = np.column_stack([series[:-1], series[1:]])

    def density(x, b: Backend):
        mean, slope, log_omega, persistence, share, log_dof = (x[..., k] for k in range(6))
        omega, dof = b.np.exp(log_omega), b.np.exp(log_dof)
        both = 1 / (1 + b.np.exp(-persistence))
        alpha = both / (1 + b.np.exp(-share))
        beta = both - alpha

        def step(variance, row):
            error = row[1] - mean - slope * (row[0] - mean)
            value = student(b, error, 0.0, b.np.sqrt(variance), dof)
            return omega + alpha * error**2 + beta * variance, value

        _, likelihood = b.scan(step, omega / (1 - both), rows)
        prior = normal(b, mean, 0.0, 10.0) + normal(b, slope, 0.0, 1.0) + normal(b, log_omega, 0.0, 2.0)
        return (
            likelihood
            + prior
            + (logistic_density(b, persistence) + logistic_density(b, share) + gamma_log(b, log_dof, 2.0, 0.1))
        )

    start = [(3.0, 3.0), (0.5, 0.5), (0.0, 2.0), (1.0, 1.5), (0.0, 1.5), (2.0, 1.0)]
    return Posterior(
        "garch_inflation", "AR(1)-GARCH(1,1) with Student-t errors, inflation (statsmodels)", density, start
    )


def state_log_likelihood(b: Backend, series, means, log_sds, stay):
    """By the forward recursion over two hidden states, each with logits of staying; (…, 2) all three."""
    log_stay, log_leave = -b.np.logaddexp(0.0, -stay), -b.np.logaddexp(0.0, stay)

    def step(log_weights, value):  # log-probabilities of the states, given the past
        seen = log_weights + normal(b, value, means, b.np.exp(log_sds))
        total = b.np.logaddexp(seen[..., 0], seen[..., 1])
        seen = seen - total[..., None]
        return b.np.logaddexp(seen + log_stay, (seen + log_leave)[..., ::-1]), total

    _, log_likelihood = b.scan(step, b.np.zeros_like(means) - np.log(2.0), series)
    return log_likelihood


def switching_growth() -> Posterior:
    """Growth of the US economy with two hidden states, which differ in mean and variance; labels can be swapped."""
    growth = 100 * np.diff(np.log(numbers(of_statsmodels("macrodata"), "realgdp")))

    def density(x, b: Backend):
        means, log_sds, stay = x[..., :2], x[..., 2:4], x[..., 4:6]
        states = normal(b, means, 0.0, 2.0) + normal(b, log_sds, 0.0, 1.0) + normal(b, stay, 1.5, 1.5)
        return state_log_likelihood(b, growth, means, log_sds, stay) + states.sum(-1)

    start = [*[(0.5, 1.0)] * 2, *[(0.0, 0.7)] * 2, *[(1.5, 1.0)] * 2]
    about = "hidden Markov model of two states, growth (statsmodels)"
    return Posterior("switching_growth", about, density, start, lambda points: points[..., [1, 0, 3, 2, 5, 4]])


def ode_lynx() -> Posterior:
    """Trapped lynx of thirty years, and the hares that nobody counted: Lotka–Volterra in logarithms."""
    log_lynx, num_steps = np.log(numbers(of_r("datasets", "lynx"), "lynx")[:30] / 1_000), 10

    def density(x, b: Backend):
        hare_rate, lynx_rate, level = (b.np.exp(x[..., k]) for k in range(3))
        sd = b.np.exp(x[..., 5])

        def slope(hare, lynx):
            return hare_rate * (1 - b.np.exp(lynx) / level), lynx_rate * (b.np.exp(hare) - 1)

        def year(state, seen):
            value, step = normal(b, seen, state[1], sd), 1 / num_steps
            for _ in range(num_steps):
                one = slope(*state)
                two = slope(state[0] + 0.5 * step * one[0], state[1] + 0.5 * step * one[1])
                three = slope(state[0] + 0.5 * step * two[0], state[1] + 0.5 * step * two[1])
                four = slope(state[0] + step * three[0], state[1] + step * three[1])
                state = tuple(
                    at + step / 6 * (one[k] + 2 * two[k] + 2 * three[k] + four[k]) for k, at in enumerate(state)
                )
            return state, value

        _, likelihood = b.scan(year, (x[..., 3], x[..., 4]), log_lynx)
        rates = normal(b, x[..., :2], np.log(0.5), 0.5).sum(-1)
        levels = normal(b, x[..., 2], 0.0, 1.0) + normal(b, x[..., 3], 0.0, 1.0) + normal(b, x[..., 4], -1.0, 1.0)
        return likelihood + rates + levels + half_normal_log(b, x[..., 5], 1.0)

    start = [(-0.7, 0.5), (-0.7, 0.5), (0.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (0.0, 1.0)]
    about = "Lotka–Volterra equations of which one population is seen, lynx (R)"
    return Posterior("ode_lynx", about, density, start)
