"""A PyMC model as a log-density of its unconstrained parameters."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_component
from steinbox.densities.gaussian import Gaussian


class PyMCModel:
    r"""The posterior of a PyMC model, on the space of its unconstrained parameters.

    PyMC gives each bounded parameter a free one, such as :math:`\log\sigma` for :math:`\sigma`; the log-density is that
    of the free parameters, Jacobian included. Functions are compiled when they are first needed, once in each process.

    Parameters
    ----------
    model : pymc.Model
        All its free parameters are continuous.
    mode : str, optional
        How PyTensor compiles: its default takes many seconds and a C compiler, and makes fast functions;
        ``"FAST_COMPILE"`` takes little time and makes slow ones.

    Attributes
    ----------
    dimension : int
        The number of free parameters.
    names : tuple of str
        Their names, such as ``"mu"``, ``"sigma_log__"`` and ``"theta[0]"``.
    initial : Gaussian
        Around the model's own initial point, with standard deviation 1.

    Examples
    --------
    >>> import pymc  # doctest: +SKIP
    >>> with pymc.Model() as model:  # doctest: +SKIP
    ...     sigma = pymc.HalfNormal("sigma", 1.0)
    >>> PyMCModel(model).names  # doctest: +SKIP
    ('sigma_log__',)
    """

    def __init__(self, model: Any, *, mode: str | None = None) -> None:
        require_component("model", model, "compile_logp", "pymc.Model()")
        if model.discrete_value_vars:
            names = ", ".join(variable.name for variable in model.discrete_value_vars)
            raise ValueError(f"expected a model with continuous parameters alone, but {names} is discrete: sum it out")
        if not model.value_vars:
            raise ValueError("expected a model with free parameters, got one without")
        start = model.initial_point(random_seed=0)
        self.model, self.mode = model, mode
        self._shapes = {variable.name: np.shape(start[variable.name]) for variable in model.value_vars}
        self.names = tuple(entry for name, shape in self._shapes.items() for entry in _entries(name, shape))
        self.dimension = len(self.names)
        self.initial = Gaussian(np.concatenate([np.ravel(start[name]) for name in self._shapes]), std=1.0)

    def log_prob(self, x: Array) -> float:
        """The log-density at a point, (d,)."""
        return float(self._log_prob(self._split(x)))

    def score(self, x: Array) -> Array:
        """Its gradient, (d,)."""
        return np.asarray(self._score(self._split(x)), dtype=np.float64)

    def to_named(self, particles: Array) -> dict[str, np.ndarray[Any, Any]]:
        """The model's own variables at all particles, (n, d): parameters in their units, and deterministics.

        Returns
        -------
        dict of arrays
            By name, one row for each particle.
        """
        rows = [self._evaluate_named(self._split(row)) for row in np.asarray(particles, dtype=np.float64)]
        names = [variable.name for variable in self._named_variables()]
        return {name: np.array([row[k] for row in rows]) for k, name in enumerate(names)}

    def _split(self, x: Array) -> dict[str, Array]:
        """The point as PyMC expects it: its free variables by name."""
        point = np.asarray(x, dtype=np.float64)
        if point.shape != (self.dimension,):
            raise ValueError(f"expected a point of shape ({self.dimension},), got shape {point.shape}")
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes.values()])
        parts = np.split(point, ends[:-1])
        return {name: part.reshape(shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)}

    def _named_variables(self) -> list[Any]:
        return [*self.model.free_RVs, *self.model.deterministics]

    @cached_property
    def _log_prob(self) -> Any:
        return self.model.compile_logp(mode=self.mode)

    @cached_property
    def _score(self) -> Any:
        return self.model.compile_dlogp(mode=self.mode)

    @cached_property
    def _evaluate_named(self) -> Any:
        variables = self.model.replace_rvs_by_values(self._named_variables())
        inputs = self.model.value_vars
        return self.model.compile_fn(variables, inputs=inputs, mode=self.mode, on_unused_input="ignore")

    def __getstate__(self) -> dict[str, Any]:
        """All but the compiled functions, which are compiled again where they are needed."""
        compiled = ("_log_prob", "_score", "_evaluate_named")
        return {name: value for name, value in self.__dict__.items() if name not in compiled}


def _entries(name: str, shape: tuple[int, ...]) -> list[str]:
    """The names of a variable's entries: ``theta[0]``, ``theta[1]``; a scalar's is its own."""
    return [f"{name}[{','.join(map(str, index))}]" if shape else name for index in np.ndindex(*shape)]
