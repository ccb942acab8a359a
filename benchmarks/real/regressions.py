"""Regressions in raw units with vague priors: linear, robust, logistic, Poisson, and of survival times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from datasets import numbers, of_r, of_statsmodels, with_intercept
from posterior import Backend, Posterior, bernoulli, gamma_log, normal, poisson, student


def prior_of_slopes(b: Backend, slopes, sds: Sequence[float]):
    return normal(b, slopes, 0.0, np.asarray(sds, dtype=float)).sum(-1)


def linear_diabetes() -> Posterior:
    """Progression of diabetes on ten measurements of 442 patients, some of them all but collinear."""
    from sklearn.datasets import load_diabetes

    features, outcome = load_diabetes(return_X_y=True, scaled=False)
    design = with_intercept(features)
    sds = [1_000.0] + [100.0] * 10

    def density(x, b: Backend):
        slopes, log_sd = x[..., :-1], x[..., -1:]
        fitted = slopes @ design.T
        prior = prior_of_slopes(b, slopes, sds) + normal(b, x[..., -1], 4.0, 2.0)
        return normal(b, outcome, fitted, b.np.exp(log_sd)).sum(-1) + prior

    start = [(0.0, 300.0), *[(0.0, 10.0)] * 10, (4.0, 1.0)]
    return Posterior("linear_diabetes", "linear regression, progression of diabetes (scikit-learn)", density, start)


def robust_stackloss() -> Posterior:
    """Brownlee's stack loss with Student-t errors, whose degrees of freedom are unknown."""
    data = of_statsmodels("stackloss")
    design = with_intercept(numbers(data, "AIRFLOW", "WATERTEMP", "ACIDCONC"))
    outcome = numbers(data, "STACKLOSS")
    sds = [100.0, 10.0, 10.0, 10.0]

    def density(x, b: Backend):
        slopes, log_sd, log_dof = x[..., :4], x[..., 4:5], x[..., 5:6]
        errors = student(b, outcome, slopes @ design.T, b.np.exp(log_sd), b.np.exp(log_dof)).sum(-1)
        prior = normal(b, log_sd, 0.0, 2.0) + gamma_log(b, log_dof, 2.0, 0.1)
        return errors + prior_of_slopes(b, slopes, sds) + prior[..., 0]

    start = [(-40.0, 30.0), *[(0.0, 3.0)] * 3, (1.0, 1.0), (2.0, 1.0)]
    return Posterior(
        "robust_stackloss", "linear regression with Student-t errors, stack loss (statsmodels)", density, start
    )


def logistic_spector() -> Posterior:
    """Whether a grade improved; 32 students, three predictors in raw units."""
    data = of_statsmodels("spector", delimiter=" ", quotechar="'")
    design, outcome = with_intercept(numbers(data, "GPA", "TUCE", "PSI")), numbers(data, "GRADE")
    sds = [20.0, 10.0, 10.0, 10.0]

    def density(x, b: Backend):
        return bernoulli(b, outcome, x @ design.T).sum(-1) + prior_of_slopes(b, x, sds)

    start = [(0.0, sd) for sd in sds]
    return Posterior("logistic_spector", "logistic regression, grades (statsmodels)", density, start)


def logistic_cancer() -> Posterior:
    """Breast cancer on thirty standardized features that all but separate the classes: the prior matters."""
    from sklearn.datasets import load_breast_cancer

    features, outcome = load_breast_cancer(return_X_y=True)
    design = with_intercept((features - features.mean(axis=0)) / features.std(axis=0))
    sds = [5.0] * 31

    def density(x, b: Backend):
        return bernoulli(b, outcome, x @ design.T).sum(-1) + prior_of_slopes(b, x, sds)

    start = [(0.0, 5.0)] * 31
    return Posterior("logistic_cancer", "logistic regression, breast cancer (scikit-learn)", density, start)


def poisson_executions() -> Posterior:
    """Executions in 17 states; the units of the slopes differ by four orders of magnitude."""
    data = of_statsmodels("cpunish")
    features = numbers(data, "INCOME", "PERPOVERTY", "PERBLACK", "VC100k96", "SOUTH", "DEGREE")
    design, outcome = with_intercept(features), numbers(data, "EXECUTIONS")
    sds = [20.0, *(20.0 / features.std(axis=0))]

    def density(x, b: Backend):
        return poisson(b, outcome, x @ design.T).sum(-1) + prior_of_slopes(b, x, sds)

    start = [(0.0, 10.0), *[(0.0, 2.0 / sd) for sd in features.std(axis=0)]]
    return Posterior("poisson_executions", "Poisson regression, executions (statsmodels)", density, start)


def weibull_lung() -> Posterior:
    """Survival with lung cancer, censored; age, sex and performance score, in days and years."""
    data = of_r("survival", "lung")
    known = [row for row, score in enumerate(data["ph.ecog"]) if score != "NA"]
    data = {name: [column[row] for row in known] for name, column in data.items()}
    design = with_intercept(numbers(data, "age", "sex", "ph.ecog"))
    log_days, is_dead = np.log(numbers(data, "time")), numbers(data, "status") == 2
    sds = [20.0, 1.0, 10.0, 10.0]

    def density(x, b: Backend):
        slopes, log_shape = x[..., :4], x[..., 4:5]
        scaled = b.np.exp(log_shape) * (log_days - slopes @ design.T)
        log_hazard = log_shape + scaled - log_days
        return (is_dead * log_hazard - b.np.exp(scaled)).sum(-1) + (
            prior_of_slopes(b, slopes, sds) + normal(b, x[..., 4], 0.0, 1.0)
        )

    start = [(6.0, 3.0), (0.0, 0.1), (0.0, 2.0), (0.0, 2.0), (0.0, 1.0)]
    return Posterior("weibull_lung", "Weibull regression with censoring, lung cancer (R's survival)", density, start)
