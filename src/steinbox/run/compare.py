"""Several runs of one problem side by side: where they differ, something is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.labels import label
from steinbox.common.tables import html_paragraphs, html_table, text_table
from steinbox.diagnostics.mmd import mmd
from steinbox.maps.coordinates import Standardized
from steinbox.numerics.basins import find_basins, sharpen
from steinbox.run.result import Result

_MAX_DEVIATIONS = 4.0  # standard errors between two runs
_MIN_SHIFT = 0.1  # standard deviations: a smaller difference of means is of no interest, however sure
_MAX_SD_RATIO = 1.25  # of the standard deviations of two runs
_NUM_SPLITS = 100  # random ones of all particles, for what chance makes of the MMD
_MIN_SHARE = 0.05  # of one run's particles: fewer are no mode
_MAX_PARTICLES = 500  # of each run, for distances and MMD
_MIN_DROP = 2.0  # nats between the lower of two modes and the pass between them: a seventh of its density
_NUM_NEIGHBORS = 10  # fewer tear a ridge apart, more join what lies side by side


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Numbers of every run; ``str()`` says in words where they differ.

    Attributes
    ----------
    names : tuple of str
        Of the parameters.
    log_evidence, log_evidence_error : (k,) arrays
    mean, mean_error, sd : (k, d) arrays
    mmd : (k, k) array
        Between the particles of two runs, in standardized coordinates.
    mmd_by_chance : float
        What 99 of 100 random splits of all particles stay below.
    mode_shares : (k, m) array
        Shares of a run's particles in each mode that any of them has seen.
    disagreements : tuple of str
        Where runs differ by more than chance, a sentence each.
    """

    names: tuple[str, ...]
    log_evidence: Array
    log_evidence_error: Array
    mean: Array
    mean_error: Array
    sd: Array
    mmd: Array
    mmd_by_chance: float
    mode_shares: Array
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def disagreements(self) -> tuple[str, ...]:
        """A sentence for every way in which two runs differ by more than chance; first a mode that one has lost."""
        return (*_mode_words(self), *_evidence_words(self), *_moment_words(self), *_mmd_words(self))

    @property
    def agrees(self) -> bool:
        """Whether no two runs differ by more than chance."""
        return not self.disagreements

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's header."""
        labels = (label(name, self.units) for name in self.names)
        return ("run", "log evidence", "±", *labels, *(f"mode {m + 1}" for m in range(self.mode_shares.shape[1])))

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table's cells as text: evidence, means and shares of modes."""
        return [
            (
                str(k + 1),
                f"{self.log_evidence[k]:.4g}",
                f"{self.log_evidence_error[k]:.2g}",
                *(f"{value:.4g}" for value in self.mean[k]),
                *(f"{share:.0%}" for share in self.mode_shares[k]),
            )
            for k in range(len(self.mean))
        ]

    @property
    def sentences(self) -> list[str]:
        """What there is to say."""
        if self.agrees:
            return [f"The {len(self.mean)} runs agree. This cannot reveal what all of them missed."]
        return list(self.disagreements)

    def __str__(self) -> str:
        return "\n".join([text_table(self.columns, self.rows), *self.sentences])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.rows) + html_paragraphs(self.sentences)


def compare(results: Sequence[Result]) -> Comparison:
    """Compare runs of the same problem, with other seeds or other methods: evidence, moments, particles, modes.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.separated_modes(2)
    >>> settings = {"vectorized": True, "max_evals": 1_000, "num_particles": 100}
    >>> runs = [sb.sample(target.log_prob, sb.Gaussian([0, 0], std=5), seed=seed, **settings) for seed in range(3)]
    >>> comparison = compare(runs)
    >>> print(comparison.sentences[0])
    The 3 runs agree. This cannot reveal what all of them missed.
    >>> comparison.mode_shares.shape
    (3, 2)

    ``sb.plotting.compare(comparison)`` is a picture of it.
    """
    if len(results) < 2 or len({result.names for result in results}) > 1:
        found = " and ".join(sorted({f"({', '.join(result.names)})" for result in results})) or "nothing"
        raise ValueError(
            f"expected at least two results of the same parameters, got {len(results)} of {found}; run sb.sample with "
            "another seed"
        )
    chosen = [_choose_particles(result) for result in results]
    particles = _standardize([result.particles[rows] for result, rows in zip(results, chosen, strict=True)], results)
    log_prob = np.concatenate([result.log_prob[rows] for result, rows in zip(results, chosen, strict=True)])
    return Comparison(
        names=results[0].names,
        log_evidence=np.array([result.log_evidence for result in results]),
        log_evidence_error=np.array([result.log_evidence_error for result in results]),
        mean=np.array([result.mean for result in results]),
        mean_error=np.array([result.mean_error for result in results]),
        sd=np.array([np.sqrt(np.diag(result.cov)) for result in results]),
        mmd=np.array([[mmd(x, y) if x is not y else 0.0 for y in particles] for x in particles]),
        mmd_by_chance=_mmd_by_chance(particles),
        mode_shares=_mode_shares(particles, log_prob),
        units=results[0].units,
    )


def _choose_particles(result: Result) -> IntegerArray:
    """Rows of equally weighted particles of a run."""
    inside = np.flatnonzero(result.weights > 0)
    size = min(len(inside), _MAX_PARTICLES)
    is_even = np.ptp(result.weights[inside]) == 0
    probabilities = result.weights[inside] / result.weights[inside].sum()
    return np.random.default_rng(0).choice(inside, size, replace=not is_even, p=probabilities)


def _standardize(particles: list[Array], results: Sequence[Result]) -> list[Array]:
    """In units of the particles of all runs."""
    scale = Standardized().fit(np.concatenate([each.particles[each.weights > 0] for each in results]))
    return [scale.forward(each) for each in particles]


def _mmd_by_chance(particles: list[Array]) -> float:
    everything, size = np.concatenate(particles), min(map(len, particles))
    rng, found = np.random.default_rng(0), []
    for _ in range(_NUM_SPLITS):
        order = rng.permutation(len(everything))
        found.append(mmd(everything[order[:size]], everything[order[size : 2 * size]]))
    return float(np.quantile(found, 0.99))


def _mode_shares(particles: list[Array], log_prob: Array) -> Array:
    """Shares of the basins of all particles; those that no run has a twentieth in are left out."""
    labels = find_basins(sharpen(np.concatenate(particles)), log_prob, _NUM_NEIGHBORS, _MIN_DROP)
    runs = np.split(labels, np.cumsum([len(x) for x in particles])[:-1])
    shares = np.array([np.bincount(run, minlength=labels.max() + 1) / len(run) for run in runs])
    return np.asarray(shares[:, shares.max(axis=0) >= _MIN_SHARE])


def _pairs(comparison: Comparison) -> Iterator[tuple[int, int]]:
    yield from combinations(range(len(comparison.mean)), 2)


def _evidence_words(comparison: Comparison) -> Iterator[str]:
    value, error = comparison.log_evidence, comparison.log_evidence_error
    for i, j in _pairs(comparison):
        if abs(value[i] - value[j]) > _MAX_DEVIATIONS * np.hypot(error[i], error[j]):  # NaN compares as no
            yield f"The log-evidences of runs {i + 1} and {j + 1} differ: {value[i]:.4g} and {value[j]:.4g}."


def _moment_words(comparison: Comparison) -> Iterator[str]:
    mean, error, sd = comparison.mean, comparison.mean_error, comparison.sd
    for i, j in _pairs(comparison):
        gap, typical = np.abs(mean[i] - mean[j]), np.maximum(sd[i], sd[j])
        shifted = (gap > _MAX_DEVIATIONS * np.hypot(error[i], error[j])) & (gap > _MIN_SHIFT * typical)
        for k in np.flatnonzero(shifted):
            yield (
                f"Runs {i + 1} and {j + 1} have means of {comparison.names[k]} that differ by "
                f"{gap[k] / typical[k]:.2g} standard deviations."
            )
        for k in np.flatnonzero(typical > _MAX_SD_RATIO * np.minimum(sd[i], sd[j])):
            yield (
                f"Runs {i + 1} and {j + 1} have standard deviations of {comparison.names[k]} of {sd[i, k]:.3g} and "
                f"{sd[j, k]:.3g}."
            )


def _mmd_words(comparison: Comparison) -> Iterator[str]:
    for i, j in _pairs(comparison):
        if comparison.mmd[i, j] > comparison.mmd_by_chance:
            yield (
                f"The particles of runs {i + 1} and {j + 1} are farther apart than chance explains: MMD "
                f"{comparison.mmd[i, j]:.2g}, by chance at most {comparison.mmd_by_chance:.2g}."
            )


def _mode_words(comparison: Comparison) -> Iterator[str]:
    for m, shares in enumerate(comparison.mode_shares.T):
        missing = [str(k + 1) for k in np.flatnonzero(shares == 0)]
        if missing:
            who = f"Run {missing[0]} has" if len(missing) == 1 else f"Runs {', '.join(missing)} have"
            yield f"{who} no particle in mode {m + 1}, which holds {shares.max():.0%} of run {shares.argmax() + 1}."
