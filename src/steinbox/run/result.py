"""What a run returns: particles with their log-densities, how they came about, and how to keep them."""

from __future__ import annotations

import json
import re
import secrets
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import SerializationError, describe_format, pack, unpack
from steinbox.densities.initial import Initial
from steinbox.evaluation import Archive, Failure
from steinbox.maps.bounds import Bounds
from steinbox.run.status import Status
from steinbox.samplers.base import Coverage

if TYPE_CHECKING:
    from steinbox.diagnostics import Diagnostics

_FORMAT = 6  # 5 had no constants and no derived quantities
_PLAIN = (
    "names",
    "num_evals",
    "num_failures",
    "warnings",
    "log_evidence",
    "log_evidence_error",
    "effective_sample_size",
    "pareto_shape",
    "seed",
    "config",
    "version",
    "constants",
)  # what JSON can hold as it is
_QUANTILES = (0.05, 0.5, 0.95)


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
    pool, pool_weights : (m, d) array, (m,) array
        All weighted points that the particles were chosen from; the particles themselves if they were not chosen.
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
        What draws of the start and climbs say of modes that were not seen: ``coverage.unseen``, the expected share of
        places that lead to one, and ``coverage.upper``, a bound. None if the method makes no climbs.
    trace : mapping of str to (T,) array
        One entry per iteration: ``mean_log_prob``, the mean log-density of the particles so far (as free parameters,
        if there are bounds), and what the method reports: see its own documentation.
    warnings : tuple of str
        Reasons not to trust the particles, a sentence each; empty if there are none.
    seed : int
    config : mapping
        The method and its settings, in words and numbers.
    version : str
        Of steinbox.
    constants : mapping of str to value
        Parameters that were held (``fixed=``).
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

    @property
    def mean(self) -> Array:
        """The weighted mean of the particles; of an angle, the direction of the mean on the circle."""
        return self._wrapped(self.weights @ self._unwrapped)

    @property
    def cov(self) -> Array:
        """The weighted covariance of the particles; angles are measured from their mean direction."""
        centered = self._unwrapped - self.weights @ self._unwrapped
        return np.asarray((centered * self.weights[:, None]).T @ centered)

    def summary(self) -> Summary:
        """Mean, standard deviation and quantiles of every parameter; those of an angle go around from its mean."""
        quantiles = np.quantile(self._unwrapped, _QUANTILES, axis=0, weights=self.weights, method="inverted_cdf")
        return Summary(self.names, self.mean, np.sqrt(np.diag(self.cov)), self._wrapped(np.asarray(quantiles)))

    @property
    def _unwrapped(self) -> Array:
        """The particles with every angle within half a turn of its mean direction."""
        return self.particles if self.bounds is None else self.bounds.unwrap(self.particles, self.weights)

    def _wrapped(self, x: Array) -> Array:
        return x if self.bounds is None else self.bounds.wrap(x)

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
        """Write everything to one ``.npz`` file of arrays and text (no pickle); returns the path.

        The file is written beside its place and then moved there: a failure leaves what was there before.
        """
        path = Path(path)
        header, arrays = self._to_header_and_arrays()
        partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with partial.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, header=np.array(json.dumps(header)), **arrays)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read what :meth:`save` wrote.

        Loading runs no code from the file; see :mod:`steinbox.common.serialization`.
        """
        if not Path(path).is_dir() and Path(path).exists() and not zipfile.is_zipfile(path):
            raise ValueError(f"{path} is not a result that steinbox saved: it is no .npz file")
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            header = json.loads(str(arrays.pop("header", "{}")))
            number = _format_number(header.pop("format", None))
            if number == _FORMAT:
                return cls._from_header_and_arrays(header, arrays)
        except FileNotFoundError:
            raise
        except SerializationError as error:
            raise ValueError(f"{path} cannot be loaded here: {error}") from error
        except Exception as error:
            raise ValueError(f"{path} is not a result that steinbox saved: {error}") from error
        raise ValueError(f"{path} {describe_format(number, _FORMAT)}")

    def _to_header_and_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        packed: dict[str, Array] = {}
        header = {name: getattr(self, name) for name in _PLAIN} | {
            "format": f"steinbox-result-{_FORMAT}",
            "bounds": None if self.bounds is None else self.bounds.to_json(),
            "failures": {kind: failure.to_json() for kind, failure in self.failures.items()},
            "status": self.status.name,
            "mixture": pack(self.mixture, packed),
            "coverage": None if self.coverage is None else asdict(self.coverage),
        }
        arrays = {name: getattr(self, name) for name in ("particles", "weights", "log_prob", "pool", "pool_weights")}
        arrays |= {f"mixture/{name}": values for name, values in packed.items()}
        arrays |= {f"archive/{name}": values for name, values in self.archive.to_arrays().items()}
        arrays |= {f"trace/{name}": values for name, values in self.trace.items()}
        return header, arrays

    @classmethod
    def _from_header_and_arrays(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Result:
        trace, archive = _pop_prefix(arrays, "trace/"), Archive.from_arrays(_pop_prefix(arrays, "archive/"))
        header |= {
            "names": tuple(header["names"]),
            "warnings": tuple(header["warnings"]),
            "bounds": None if header["bounds"] is None else Bounds.from_json(header["bounds"]),
            "failures": {kind: Failure.from_json(data) for kind, data in header["failures"].items()},
            "status": Status[header["status"]],
            "coverage": None if header["coverage"] is None else Coverage(**header["coverage"]),
            "mixture": unpack(header["mixture"], _pop_prefix(arrays, "mixture/")),
        }
        return cls(trace=trace, archive=archive, **header | arrays)

    def to_arviz(self) -> Any:
        """The particles inside the support as an ArviZ ``DataTree``: one chain, one draw per particle.

        Needs ``pip install "steinbox[arviz]"``. The draws are exchangeable and not a Markov chain: summaries and plots
        of the posterior mean what they say, diagnostics of convergence (R-hat, autocorrelation) do not apply. A slash
        in a parameter's name becomes an underscore, since a tree's names are paths.
        """
        try:
            from arviz_base import from_dict
        except ImportError:
            raise ImportError('to_arviz() needs ArviZ: pip install "steinbox[arviz]"') from None

        inside = self.weights > 0
        posterior = {name.replace("/", "_"): self.particles[None, inside, k] for k, name in enumerate(self.names)}
        return from_dict({"posterior": posterior, "sample_stats": {"lp": self.log_prob[None, inside]}})

    def __repr__(self) -> str:
        num_particles, dimension = self.particles.shape
        failures = f", {self.num_failures:,} of them failed" if self.num_failures else ""
        return (
            f"<steinbox.Result: {num_particles} particles in {dimension} dimension{'s' if dimension > 1 else ''}, "
            f"{self.num_evals:,} evaluations{failures}, {self.config.get('method', '?')}. "
            + " ".join([str(self.status), *(f"Warning: {warning}" for warning in self.warnings)])
            + ">"
        )


def _format_number(text: object) -> int:
    found = re.fullmatch(r"steinbox-result-(\d{1,9})", str(text))
    if found is None:
        raise ValueError(f"its format is {text!r}")
    return int(found[1])


def _pop_prefix(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays whose names start so, taken out."""
    return {name.removeprefix(prefix): arrays.pop(name) for name in list(arrays) if name.startswith(prefix)}


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """A table of the particles: one row per parameter. ``str()`` gives it as text."""

    names: Sequence[str]
    mean: Array
    sd: Array
    quantiles: Array

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's header."""
        return ("parameter", "mean", "sd", *(f"{100 * q:.0f}%" for q in _QUANTILES))

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table's cells as text."""
        numbers = np.column_stack([self.mean, self.sd, self.quantiles.T])
        return [(name, *(f"{value:.4g}" for value in row)) for name, row in zip(self.names, numbers, strict=True)]

    def __str__(self) -> str:
        table = [self.columns, *self.rows]
        widths = [max(len(row[k]) for row in table) for k in range(len(self.columns))]
        return "\n".join(
            row[0].ljust(widths[0])
            + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in table
        )

    __repr__ = __str__
