"""A prior and a likelihood, apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from steinbox.common.labels import check_texts
from steinbox.model.arguments import Arguments
from steinbox.model.prior import as_prior


@dataclass(frozen=True, eq=False)
class Model:
    r"""A posterior :math:`p(x) \propto \pi(x) L(x)`, to be given to :func:`steinbox.sample` in place of a log-density.

    The prior says where the parameters may be (its support becomes their bounds), where to start, and what the evidence
    :math:`\int \pi(x) L(x) \, dx` is measured with. The likelihood is called inside the support only.

    Parameters
    ----------
    log_likelihood : callable
        Of a dictionary of the parameters if the prior is one by names, of an array otherwise. It may also return
        ``(log_likelihood, {name: value or array})``, quantities to be kept with each evaluation.
    prior : mapping of str to distribution, list of distributions, or distribution
        Continuous distributions of ``scipy.stats`` with their parameters, of the old or the new interface. A joint one
        of several parameters has a tuple of names as its key.
    names : sequence of str
        Of the parameters of a prior without names; ``x0, x1, …`` if not given.
    periodic : sequence of str
        Parameters whose prior's two ends are one, such as a uniform angle; circular distributions are known.
    units, descriptions : mapping of str to str
        Of parameters and derived quantities, by name, as far as you like: they stand in tables, plots and files.

    Attributes
    ----------
    prior : Prior
        With ``names``, ``sample(num_points, rng)`` and ``log_prob(points)``.

    Examples
    --------
    >>> import steinbox as sb
    >>> from scipy import stats
    >>> data = np.array([1.2, 0.7, 1.9])
    >>> def log_likelihood(p):
    ...     return stats.norm(p["mean"], p["sd"]).logpdf(data).sum()
    >>> model = sb.Model(log_likelihood, prior={"mean": stats.norm(0, 5), "sd": stats.expon()})
    >>> result = sb.sample(model, num_particles=50, max_evals=2_000, seed=0)
    >>> result.names, bool((result.particles[:, 1] > 0).all())
    (('mean', 'sd'), True)
    """

    log_likelihood: Callable[..., Any]
    _: KW_ONLY
    prior: Any
    names: Sequence[str] | None = None
    periodic: Sequence[str] = ()
    units: Mapping[str, str] | None = None
    descriptions: Mapping[str, str] | None = None
    by_name: bool = field(init=False)
    """Whether the likelihood takes a dictionary, since the prior was one."""

    def __post_init__(self) -> None:
        if not callable(self.log_likelihood):
            raise TypeError(f"expected log_likelihood to be a function, got {type(self.log_likelihood).__name__}")
        object.__setattr__(self, "by_name", isinstance(self.prior, Mapping))
        object.__setattr__(self, "prior", as_prior(self.prior, self.names, self.periodic))
        object.__setattr__(self, "names", self.prior.names)
        object.__setattr__(self, "units", check_texts("units", self.units))
        object.__setattr__(self, "descriptions", check_texts("descriptions", self.descriptions))

    def __call__(self, x: Any, **random: Any) -> float:
        """Log prior plus log likelihood at one point, (d,)."""
        point = np.asarray(x, dtype=np.float64)
        log_prior = float(self.prior.log_prob(point[None])[0])
        if log_prior == -np.inf:
            return log_prior
        arguments = Arguments(self.prior.names, {}, self.by_name)
        value = self.log_likelihood(point if arguments.is_plain else arguments(point), **random)
        return log_prior + float(value[0] if isinstance(value, tuple) else value)
