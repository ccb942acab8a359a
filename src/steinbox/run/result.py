"""What a run returns: particles with their log-densities, how they came about, and how to keep them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, RNGLike
from steinbox.common.checks import require_count
from steinbox.common.labels import label
from steinbox.common.tables import html_paragraphs
from steinbox.densities.initial import Initial
from steinbox.evaluation import Archive, Failure
from steinbox.maps.bounds import Bounds
from steinbox.run.arrivals import Arrivals
from steinbox.run.expectations import Estimate, WeightedPoints
from steinbox.run.export import to_arviz, to_dataframe, write_netcdf
from steinbox.run.record import Record
from steinbox.run.result_file import read_result, require_ending, write_result
from steinbox.run.status import Status
from steinbox.run.summary import Summary, numbers_of, scalars
from steinbox.samplers.base import Coverage

if TYPE_CHECKING:
    from steinbox.diagnostics import Diagnostics


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The particles and their story. Frozen; not iterable.

    Attributes
    ----------
    particles : (n, d) array
        Every one of them was evaluated.
    weights : (n,) array
        They sum to one; zero for a particle outside the support.
    log_prob : (n,) array
        The target's log-density at the particles, −inf where it failed or is zero.
    names : tuple of str
        The parameters' names.
    bounds : Bounds or None
        Of the parameters, if there are any.
    num_evals, num_failures : int
        Evaluations spent, and how many of them failed.
    failures : mapping of str to Failure
        By kind (exception, nan, infinite, no number, timeout, dead worker): how many, and point, message and traceback
        of the first.
    archive : Archive
        Every successful evaluation of the run: points, log-densities, seconds.
    status : Status
        Why the run ended, a sentence.
    pool, pool_weights, pool_log_prob : (m, d) array, (m,) array, (m,) array
        All weighted points that the particles were chosen from, with their log-densities; the particles themselves if
        they were not chosen.
    log_evidence, log_evidence_error : float
        The logarithm of the integral of the density (over that of the initial distribution, if this is not
        normalized), and its standard error; NaN if the method does not estimate it.
    effective_sample_size : float
        How many independent draws the pool is worth.
    pareto_shape : float
        Of the tail of the pool's weights: above 0.7 they cannot be trusted. NaN if there is no pool.
    mixture : density or None
        The last proposal: a normalized density with a score, to be used as a surrogate. If there are bounds, it is one
        of the free parameters.
    coverage : Coverage or None
        What scattered draws and climbs say about missed modes: ``coverage.unseen``, the expected share of
        places that lead to one, and ``coverage.upper``, a bound. None if the method makes no climbs.
    trace : mapping of str to (T,) array
        One entry per iteration: ``mean_log_prob``, the mean log-density of the particles so far (as free parameters,
        if there are bounds), ``num_evals`` up to then, and what the method reports: see its own documentation.
    warnings : tuple of str
        Reasons not to trust the particles, a sentence each; empty if there are none.
    seed : int
    config : mapping
        The method and its settings, in words and numbers.
    version : str
        Of steinbox.
    constants : mapping of str to value
        Parameters that were held (``fixed=``).
    record : Record or None
        The particles after some of the iterations, if ``record=`` asked for them.
    units, descriptions : mapping of str to str
        Of parameters and derived quantities, as far as they were given.
    prior_draws : (k, d) array or None
        Draws from the prior, if a :class:`~steinbox.Model` was sampled.
    arrivals : Arrivals or None
        In which order evaluations came back, if the run was asynchronous: ``asynchronous=result.arrivals`` repeats it.

    Examples
    --------
    >>> import steinbox as sb
    >>> result = sb.sample(lambda x: -0.5 * float(x @ x), sb.Gaussian([1.0, 1.0], std=2), names=["a", "b"],
    ...                    num_particles=50, max_evals=1_000, seed=0)
    >>> result.particles.shape, result["a"].shape, len(result.archive)
    ((50, 2), (50,), 1000)
    >>> bool(abs(result.mean).max() < 0.1), result.warnings
    (True, ())
    """

    particles: Array
    weights: Array
    log_prob: Array
    names: tuple[str, ...]
    bounds: Bounds | None
    num_evals: int
    num_failures: int
    failures: Mapping[str, Failure]
    status: Status
    archive: Archive
    pool: Array
    pool_weights: Array
    pool_log_prob: Array
    log_evidence: float
    log_evidence_error: float
    effective_sample_size: float
    pareto_shape: float
    mixture: Initial | None
    trace: Mapping[str, Array]
    warnings: tuple[str, ...]
    seed: int
    config: Mapping[str, Any]
    version: str
    coverage: Coverage | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    record: Record | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    prior_draws: Array | None = None
    arrivals: Arrivals | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The parameters' names with their units, as in ``mass [kg]``."""
        return tuple(label(name, self.units) for name in self.names)

    @cached_property
    def derived(self) -> Mapping[str, Array]:
        """What the function returned beside its log-density, at the particles: (n, …) arrays by name.

        They have the particles' weights. NaN where the function returned none, or failed.
        """
        return self.archive.find(self.particles)

    @cached_property
    def pool_derived(self) -> Mapping[str, Array]:
        """The same at all points of the pool, whose weights are ``pool_weights``."""
        return self.archive.find(self.pool)

    # -- numbers, from the whole weighted pool -------------------------------------------------------------------------

    @property
    def mean(self) -> Array:
        """The mean of every parameter; of an angle, the direction of the mean on the circle."""
        return self._wrapped(self._weighted_points.mean.value)

    @property
    def mean_error(self) -> Array:
        """The standard error of :attr:`mean`; see :meth:`expectation`."""
        return self._weighted_points.mean.error

    @property
    def cov(self) -> Array:
        """The covariance matrix of the parameters; angles are measured from their mean direction."""
        return self._weighted_points.cov.value

    @property
    def cov_error(self) -> Array:
        """The standard error of every entry of :attr:`cov`."""
        return self._weighted_points.cov.error

    def quantile(self, probabilities: npt.ArrayLike) -> Estimate:
        """Quantiles of every parameter, (d,) or (k, d) for k probabilities; those of an angle go around from its mean.

        Examples
        --------
        >>> import steinbox as sb
        >>> result = sb.sample(sb.Gaussian([0.0], std=1).log_prob, sb.Gaussian([0.0], std=3), vectorized=True, seed=0)
        >>> median = result.quantile(0.5)
        >>> bool(abs(median.value[0]) < 4 * median.error[0])
        True
        """
        quantiles = self._weighted_points.quantile(probabilities)
        return Estimate(self._wrapped(quantiles.value), quantiles.error)

    def expectation(self, function: Callable[..., npt.ArrayLike], *, vectorized: bool = False) -> Estimate:
        """The expectation of a function of the parameters, with its standard error.

        The error is that of importance sampling by independent draws (:mod:`steinbox.run.expectations`). It knows
        nothing about a region that was not seen, and for particles that were moved, as those of Stein samplers, it is
        only an order of magnitude.

        Parameters
        ----------
        function : callable
            ``(d,) -> number or array``, or ``(m, d) -> (m,) or (m, …)`` with ``vectorized=True``. It is called at the
            points of the pool that have weight.
        vectorized : bool
            Whether it takes all points at once.

        Returns
        -------
        Estimate
            With ``value`` and ``error``.

        Examples
        --------
        >>> import steinbox as sb
        >>> result = sb.sample(sb.Gaussian([0.0], std=1).log_prob, sb.Gaussian([0.0], std=3), vectorized=True, seed=0)
        >>> tail = result.expectation(lambda x: x[0] > 1)
        >>> bool(abs(tail.value - 0.1587) < 4 * tail.error)
        True
        """
        points = WeightedPoints.merge(self.pool, self.pool_weights)
        return points.expectation(function if vectorized else lambda x: np.array([function(row) for row in x]))

    def summary(self) -> Summary:
        """Mean with its error, standard deviation, quantiles and effective sample size of every parameter.

        Below them those of every derived quantity that is a number, from the points where it was returned.
        """
        derived = scalars(self.pool_derived, self.names)
        numbers = numbers_of([self._weighted_points, *map(self._weighted_values, derived.values())])
        for each in (numbers["mean"], *numbers["quantiles"]):
            each[: len(self.names)] = self._wrapped(each[: len(self.names)])
        return Summary(
            names=(*self.names, *derived),
            derived=tuple(derived),
            status=self.status,
            warnings=self.warnings,
            units=self.units,
            descriptions=self.descriptions,
            **numbers,
        )

    def _weighted_values(self, values: Array) -> WeightedPoints:
        """The values of a derived quantity at the points of the pool that have one, as points of one coordinate."""
        known = np.isfinite(values)
        merged = WeightedPoints.merge(np.column_stack([self.pool, values])[known], self.pool_weights[known])
        return WeightedPoints(merged.points[:, -1:], merged.weights)

    @cached_property
    def _weighted_points(self) -> WeightedPoints:
        """The pool, with every angle within half a turn of its mean direction."""
        points, weights = self.pool, self.pool_weights
        return WeightedPoints.merge(points if self.bounds is None else self.bounds.unwrap(points, weights), weights)

    def _wrapped(self, x: Array) -> Array:
        return x if self.bounds is None else self.bounds.wrap(x)

    # -- points --------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.particles)

    def __getitem__(self, name: str) -> Array:
        """The particles' values of one parameter, (n,)."""
        if name not in self.names:
            raise KeyError(f"expected the name of a parameter, one of {', '.join(self.names)}; got {name!r}")
        return self.particles[:, self.names.index(name)]

    __iter__ = None  # what would it go over: particles, parameters?

    def draws(self, num_draws: int, rng: RNGLike = None) -> Array:
        """Equally weighted draws from the weighted pool, (num_draws, d); the same point may be drawn more than once."""
        require_count("num_draws", num_draws)
        chosen = np.random.default_rng(rng).choice(len(self.pool), size=num_draws, p=self.pool_weights)
        return self.pool[chosen]

    def to_dataframe(self, *, pool: bool = False) -> Any:
        """The particles, or all of the weighted pool, as a table: a column per parameter, ``weight`` and ``log_prob``.

        Units and descriptions are in its ``attrs``. Needs ``pip install "steinbox[pandas]"``.
        """
        return to_dataframe(self, pool=pool)

    # -- what else -----------------------------------------------------------------------------------------------------

    def diagnostics(self) -> Diagnostics:
        """How good the particles are, judged from their log-densities alone, without any evaluation. Print it.

        Particles of a Stein sampler repel each other and lie more evenly than independent draws: a good run has a
        p-value near one, and only a small one says something. Modes that no particle has seen stay unseen here too,
        and a density that does not fall to zero at the edge of its support is judged wrongly unless that edge was
        given as a bound: bounded parameters are judged as the free ones they were sampled as.
        """
        from steinbox.diagnostics.diagnose import diagnose

        if self.bounds is None:
            return diagnose(self.particles, self.log_prob, self.weights, self.seed)
        free = self.bounds.inverse(self.particles, rng=self.seed)
        return diagnose(free, self.log_prob + self.bounds.log_det(free), self.weights, self.seed)

    def save(self, path: str | Path) -> Path:
        """Write the result to a file; returns the path.

        ``.npz`` holds everything without loss, as arrays and text (no pickle), and is what :meth:`load` reads.
        ``.nc`` is netCDF, for other programs: what :meth:`to_arviz` returns; it needs
        ``pip install "steinbox[netcdf]"``. The file is written beside its place and then moved there: a failure leaves
        what was there before.
        """
        path = Path(path)
        require_ending(path)
        (write_netcdf if path.suffix == ".nc" else write_result)(self, path)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read what :meth:`save` wrote as ``.npz``.

        Loading runs no code from the file; see :mod:`steinbox.common.serialization`.
        """
        return cls(**read_result(path))

    def report(self, path: str | Path) -> Path:
        """Write one HTML page about the run: whether to trust it, numbers, plots, failures; returns the path.

        The page holds all that it shows and loads nothing. Needs ``pip install "steinbox[report]"``.
        """
        from steinbox.run.report import write_report

        return write_report(self, path)

    def to_arviz(self, num_draws: int | None = None) -> Any:
        """What the installed ArviZ reads: a ``DataTree`` for version 1 and later, an ``InferenceData`` before.

        Needs ``pip install "steinbox[arviz]"``. The group ``posterior`` has draws from the weighted pool, in random
        order and as one chain. By default there are as many as the pool is worth, so that errors and effective sample
        sizes of ArviZ are about right; if you ask for more, these are too good. The group ``pool`` has all points, with
        ``weight`` and ``log_prob``; ``prior`` has draws from a Model's prior. Diagnostics of convergence (R-hat,
        autocorrelation) do not apply: this is no Markov chain. A slash in a parameter's name becomes an underscore.
        Units and descriptions are the attributes ``units`` and ``long_name`` of the variables, as the CF conventions
        have it.
        """
        return to_arviz(self, num_draws)

    @property
    def _headline(self) -> str:
        num_particles, dimension = self.particles.shape
        failures = f", {self.num_failures:,} of them failed" if self.num_failures else ""
        return (
            f"{num_particles} particles in {dimension} dimension{'s' if dimension > 1 else ''}, "
            f"{self.num_evals:,} evaluations{failures}, {self.config.get('method', '?')}."
        )

    def __repr__(self) -> str:
        warnings = [f"Warning: {warning}" for warning in self.warnings]
        return f"<steinbox.Result: {' '.join([self._headline, str(self.status), *warnings])}>"

    def _repr_html_(self) -> str:
        return html_paragraphs([self._headline]) + self.summary()._repr_html_()
