"""steinbox as a sampler of bilby: ``bilby.run_sampler(likelihood, priors, sampler="steinbox")``.

bilby finds it by its entry point; nothing has to be imported. Needs ``pip install "steinbox[bilby]"``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.initial import ScipyMultivariate
from steinbox.maps.bounds import Periodic
from steinbox.numerics.weights import systematic_resample
from steinbox.run.checkpoint import Checkpoint
from steinbox.run.result import Result
from steinbox.run.status import Status
from steinbox.sample import sample

try:
    from bilby.core import prior as priors_of_bilby
    from bilby.core.sampler.base_sampler import Sampler
    from bilby.core.utils import logger
    from bilby.core.utils.random import Generator
except ImportError as error:
    raise ImportError(f'{error}: pip install "steinbox[bilby]"') from None

_IMPOSSIBLE = -1e300  # bilby's likelihoods return the lowest number there is where others return -inf
_DISCRETE = ("Categorical", "DiscreteValues", "WeightedCategorical", "WeightedDiscreteValues")
_STOPPED = (Status.INTERRUPTED, Status.TERMINATED)
_MIN_DRAWS = 4


class Steinbox(Sampler):  # type: ignore[misc]
    """Adaptive importance sampling of a bilby posterior; the keywords are those of :func:`steinbox.sample`.

    Bounds and periodic boundaries are those of the priors. The result has draws from the weighted pool, and the
    evidence with its error. A ``Constraint`` cuts off a part of the prior without normalizing it anew, as in bilby's
    nested samplers.

    Parameters
    ----------
    max_evals, max_seconds, num_particles, max_failure_rate, timeout, retries, progress, seed
        See :func:`steinbox.sample`; ``npool`` is the number of processes.
    num_draws : int
        How many draws the posterior has; as many as the pool is worth if not given.
    check_point : bool
        Whether the run is kept in ``<outdir>/<label>_steinbox.ckpt`` until it is complete.
    check_point_delta_t : float
        The shortest time between two checkpoints, in seconds.
    resume : bool
        Whether to go on from that file.
    """

    sampler_name = "steinbox"
    sampling_seed_key = "seed"
    default_kwargs: ClassVar[dict[str, Any]] = {
        "max_evals": None,
        "max_seconds": None,
        "num_particles": None,
        "max_failure_rate": 0.2,
        "timeout": None,
        "retries": 0,
        "progress": None,
        "seed": None,
        "num_draws": None,
        "check_point": True,
        "check_point_delta_t": 600,
        "resume": True,
    }
    _OF_SAMPLE = (
        *("max_evals", "max_seconds", "num_particles", "max_failure_rate"),
        *("timeout", "retries", "progress", "seed"),
    )

    def _translate_kwargs(self, kwargs: dict[str, Any]) -> None:
        """Other names that bilby's users know for these."""
        super()._translate_kwargs(kwargs)
        for name in set(self.npool_equiv_kwargs) & set(kwargs):
            self._npool = kwargs.pop(name)
        for name in set(self.check_point_equiv_kwargs) & set(kwargs):
            kwargs["check_point_delta_t"] = kwargs.pop(name)

    def run_sampler(self) -> Any:
        """Sample; what bilby calls."""
        names = list(self.search_parameter_keys)
        prior = _Prior.of(self.priors, names)
        path = self._prepare_checkpoint()
        result = sample(
            self._log_prob,
            ScipyMultivariate(prior, len(names)),
            names=names,
            bounds=prior.bounds,
            executor=self.npool if self.npool is not None and self.npool > 1 else None,
            checkpoint=None if path is None else Checkpoint(path, self.kwargs["check_point_delta_t"]),
            **{name: self.kwargs[name] for name in self._OF_SAMPLE},
        )
        if result.status in _STOPPED and path is not None:
            logger.info(f"{result.status} The same call resumes the run from {path}.")
            raise SystemExit(self.exit_code)
        if path is not None and result.status.is_complete:
            path.unlink()
            path.with_name(f"{path.name}.previous").unlink(missing_ok=True)
        return self._fill_result(result)

    def _log_prob(self, x: Array) -> tuple[float, dict[str, float]]:
        parameters = dict(zip(self.search_parameter_keys, x.tolist(), strict=True))
        log_prior = float(self.priors.ln_prob(parameters, normalized=False))
        if log_prior == -np.inf:
            return -np.inf, {}
        log_likelihood = float(self.log_likelihood(x.tolist()))
        if log_likelihood < _IMPOSSIBLE:
            return -np.inf, {}
        return log_prior + log_likelihood, {"log_likelihood": log_likelihood, "log_prior": log_prior}

    def _prepare_checkpoint(self) -> Path | None:
        """The file of the checkpoint; an old one is gone if it is not to be resumed."""
        if not self.kwargs["check_point"]:
            return None
        path = Path(self.get_expected_outputs(self.outdir, self.label)[0][0])
        path.parent.mkdir(parents=True, exist_ok=True)
        if not self.kwargs["resume"]:
            path.unlink(missing_ok=True)
        return path

    def _fill_result(self, found: Result) -> Any:
        for warning in found.warnings:
            logger.warning(f"steinbox: {warning}")
        rng = np.random.default_rng(found.seed)
        num_draws = self.kwargs["num_draws"] or max(_MIN_DRAWS, int(found.effective_sample_size))
        rows = rng.permutation(systematic_resample(found.pool_weights, num_draws, rng))
        self.result.samples = found.pool[rows]
        self.result.log_likelihood_evaluations = found.pool_derived["log_likelihood"][rows]
        self.result.log_prior_evaluations = found.pool_derived["log_prior"][rows]
        self.result.log_evidence, self.result.log_evidence_err = found.log_evidence, found.log_evidence_error
        self.result.num_likelihood_evaluations = found.num_evals
        self.result.meta_data["steinbox"] = {
            "status": str(found.status),
            "warnings": list(found.warnings),
            "effective_sample_size": found.effective_sample_size,
            "seed": found.seed,
            "version": found.version,
        }
        return self.result

    @classmethod
    def get_expected_outputs(cls, outdir: Any = None, label: Any = None) -> tuple[list[str], list[str]]:
        """Files and folders that a run leaves."""
        return [str(Path(outdir) / f"{label}_steinbox.ckpt")], []


@dataclass(frozen=True)
class _Prior:
    """bilby's priors of the sampled parameters, without their constraints, as a distribution of SciPy."""

    priors: Any
    names: tuple[str, ...]

    @classmethod
    def of(cls, priors: Any, names: Sequence[str]) -> _Prior:
        discrete = tuple(getattr(priors_of_bilby, name) for name in _DISCRETE if hasattr(priors_of_bilby, name))
        for name in names:
            if isinstance(priors[name], discrete):
                raise TypeError(f"expected a continuous prior for {name!r}, got {priors[name]!r}")
        free = copy.deepcopy(priors)
        for name in [name for name in free if isinstance(free[name], priors_of_bilby.Constraint)]:
            del free[name]
        return cls(free, tuple(names))

    @property
    def bounds(self) -> list[object]:
        """An entry of ``bounds=`` for each parameter; None if it depends on other parameters."""
        return [self._bounds_of(self.priors[name]) for name in self.names]

    @staticmethod
    def _bounds_of(prior: Any) -> object:
        if getattr(prior, "required_variables", ()):
            return None
        low, high = float(prior.minimum), float(prior.maximum)
        return Periodic(low, high) if prior.boundary == "periodic" else (low, high)

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        before, Generator.rng = Generator.rng, random_state  # all of bilby draws from this one
        try:
            draws = self.priors.sample_subset(list(self.names), size=size)
        finally:
            Generator.rng = before
        return np.column_stack([np.broadcast_to(draws[name], size) for name in self.names])

    def logpdf(self, points: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            if self._is_independent:
                terms = [self.priors[name].ln_prob(column) for name, column in zip(self.names, points.T, strict=True)]
                return np.asarray(np.sum(terms, axis=0), dtype=np.float64)
            rows = [dict(zip(self.names, row, strict=True)) for row in points.tolist()]
            return np.array([self.priors.ln_prob(row, normalized=False) for row in rows], dtype=np.float64)

    @property
    def _is_independent(self) -> bool:
        return not any(
            getattr(self.priors[name], "required_variables", ()) or hasattr(self.priors[name], "dist")
            for name in self.names
        )
