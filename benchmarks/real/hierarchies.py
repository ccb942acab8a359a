"""Models with levels: effects of groups around a common mean, centred and not."""

from __future__ import annotations

import numpy as np
from datasets import numbers, of_r, of_statsmodels
from posterior import Backend, Posterior, bernoulli, half_normal_log, normal

CITY_START = [*[(0.0, 2.0)] * 8, (0.0, 2.0), (-1.0, 1.0)]
BATCH_START = [(5.0, 3.0), (0.0, 1.0), (1.0, 1.0)]


def centred(points: np.ndarray, effects: slice, mean: int, log_sd: int) -> np.ndarray:
    """From standardized effects to effects."""
    own = points.copy()
    own[..., effects] = points[..., [mean]] + np.exp(points[..., [log_sd]]) * points[..., effects]
    return own


def smoking_log_likelihood(b: Backend, base, ratio):
    """Smoking and lung cancer in eight cities of China, a log odds ratio for each."""
    data = of_statsmodels("china_smoking")
    names = ("smoking_yes_cancer_yes", "smoking_yes_cancer_no", "smoking_no_cancer_yes", "smoking_no_cancer_no")
    exposed, not_exposed, control, not_control = numbers(data, *names).T
    smokers, others = exposed + not_exposed, control + not_control
    likelihood = smokers * bernoulli(b, exposed / smokers, base + ratio) + others * bernoulli(b, control / others, base)
    return (likelihood + normal(b, base, 0.0, 5.0)).sum(-1)


def centred_smoking() -> Posterior:
    """Log odds ratios that are centred on a common one."""

    def density(x, b: Backend):
        base, ratio, mean, log_sd = x[..., :8], x[..., 8:16], x[..., 16:17], x[..., 17:18]
        effects = normal(b, ratio, mean, b.np.exp(log_sd)).sum(-1)
        prior = normal(b, mean, 0.0, 5.0) + half_normal_log(b, log_sd, 1.0)
        return smoking_log_likelihood(b, base, ratio) + effects + prior[..., 0]

    def to_own(points: np.ndarray) -> np.ndarray:
        return centred(points, slice(8, 16), 16, 17)

    start = [*[(0.0, 2.0)] * 8, *CITY_START]
    about = "hierarchical logistic model, centred, smoking (statsmodels)"
    return Posterior("centred_smoking", about, density, start, easier=(non_centred_smoking, to_own))


def non_centred_smoking() -> Posterior:
    """The same with standardized effects."""

    def density(x, b: Backend):
        base, effects, mean, log_sd = x[..., :8], x[..., 8:16], x[..., 16:17], x[..., 17:18]
        prior = normal(b, mean, 0.0, 5.0) + half_normal_log(b, log_sd, 1.0)
        likelihood = smoking_log_likelihood(b, base, mean + b.np.exp(log_sd) * effects)
        return likelihood + normal(b, effects, 0.0, 1.0).sum(-1) + prior[..., 0]

    start = [*[(0.0, 2.0)] * 8, *[(0.0, 1.0)] * 8, *CITY_START[8:]]
    return Posterior("non_centred_smoking", "the same, not centred", density, start)


def batch_log_density(b: Backend, means, mean, log_between, log_within):
    """Box and Tiao's six batches of five yields, and the prior; there is next to no variance between batches."""
    yields = numbers(of_r("lme4", "Dyestuff2"), "Yield").reshape(6, 5)
    errors = normal(b, yields, means[..., None], b.np.exp(log_within)[..., None]).sum((-1, -2))
    prior = normal(b, mean, 0.0, 10.0) + half_normal_log(b, log_between, 5.0) + half_normal_log(b, log_within, 10.0)
    return errors + prior[..., 0]


def centred_dyestuff() -> Posterior:
    """Effects centred on the mean: most of the mass is in the funnel's neck."""

    def density(x, b: Backend):
        effects, mean, log_between, log_within = x[..., :6], x[..., 6:7], x[..., 7:8], x[..., 8:9]
        between = normal(b, effects, mean, b.np.exp(log_between)).sum(-1)
        return batch_log_density(b, effects, mean, log_between, log_within) + between

    def to_own(points: np.ndarray) -> np.ndarray:
        return centred(points, slice(0, 6), 6, 7)

    about = "hierarchical normal model, centred, dyestuff (R's lme4)"
    start = [*[(5.0, 3.0)] * 6, *BATCH_START]
    return Posterior("centred_dyestuff", about, density, start, easier=(non_centred_dyestuff, to_own))


def non_centred_dyestuff() -> Posterior:
    """The same with standardized effects."""

    def density(x, b: Backend):
        effects, mean, log_between, log_within = x[..., :6], x[..., 6:7], x[..., 7:8], x[..., 8:9]
        means = mean + b.np.exp(log_between) * effects
        within = batch_log_density(b, means, mean, log_between, log_within)
        return within + normal(b, effects, 0.0, 1.0).sum(-1)

    start = [*[(0.0, 1.0)] * 6, *BATCH_START]
    return Posterior("non_centred_dyestuff", "the same, not centred", density, start)
