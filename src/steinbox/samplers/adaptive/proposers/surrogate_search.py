r"""Few evaluations: every point is chosen by a surrogate of all before it.

With so few evaluations that no weights are worth much, a surrogate (:mod:`steinbox.samplers.adaptive.local_surrogate`)
is fitted anew before every few points. They are chosen from several hundred draws of the square root of its density:
half of them like draws of the density itself, the others where the surrogate knows least beside all that are chosen
already (uncertainty sampling; Gunter et al., 2014).

They are no draws of a normalized density, and have no weights of their own. The answer is the surrogate's: all
evaluated points get weights by which they represent draws of it (:mod:`steinbox.numerics.quadrature`). What it
predicted of every point before it was evaluated says whether it can be trusted there, and nothing of other places.

References
----------
T. Gunter, M. A. Osborne, R. Garnett, P. Hennig & S. J. Roberts (2014). Sampling for inference in probabilistic models
with fast Bayesian quadrature. *NeurIPS* 27.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.numerics.quadrature import quadrature_weights
from steinbox.numerics.weights import log_sum_exp, normalize, systematic_resample
from steinbox.samplers.adaptive.local_surrogate import LocalSurrogate, fit_surrogate
from steinbox.samplers.adaptive.proposer import Offer, Probe, Proposer, View
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive

_NUM_DRAWS = 400  # of the surrogate, to choose the next points from
_POWER = 0.5  # of the density: the draws to choose from are wider than it
_NUM_ANSWER_DRAWS, _NUM_ANSWER_MOVES = 2000, 40  # that the evaluated points are to represent
_BATCH_FRACTION = 1 / 8  # of the points so far: those that are chosen at once, at least four and d / 2 + 2
_TINY_VARIANCE = 1e-4  # nats²: of the regression's own errors
_LAST_FRACTION, _MIN_LAST = 1 / 3, 10  # of the points chosen: those that tell how well the surrogate predicts


@serializable("adaptive-surrogate-search")
@dataclass(frozen=True, eq=False)
class SearchMemory:
    """The points that were chosen, what was predicted of their log-densities, and these, as far as they are known."""

    points: Array
    predicted: Array
    log_prob: Array


@dataclass(frozen=True)
class SurrogateSearch(Proposer):
    """All points after the first batch, if the budget is small and there is no noise; not one of the default's.

    The numbers of the trace are then of the first batch alone.

    Examples
    --------
    >>> import steinbox as sb
    >>> proposers = (sb.adaptive.SurrogateSearch(), *sb.adaptive.DEFAULT_PROPOSERS)
    >>> method = sb.AdaptiveImportanceSampling(proposers=proposers)
    >>> result = sb.sample(sb.Gaussian([1.0, 2.0], std=1).log_prob, sb.Gaussian([0, 0], std=3), method=method,
    ...                    vectorized=True, num_particles=50, max_evals=60, seed=0)
    >>> bool(abs(result.log_evidence) < 0.1)
    True
    """

    name = "surrogate search"

    def propose(
        self, view: View, memory: SearchMemory | None, rng: np.random.Generator
    ) -> tuple[Offer, SearchMemory | None]:
        dimension = view.archive.dimension
        is_few = view.max_evals <= view.tuning.max_search_evals and dimension <= view.tuning.max_search_dimension
        if view.is_noisy or not is_few:
            return None, memory
        memory = memory or SearchMemory(np.empty((0, dimension)), np.empty(0), np.empty(0))
        points, log_prob = _gather(view.archive, memory)
        if np.isfinite(log_prob).sum() < dimension + 5:
            return None, memory
        try:
            surrogate = fit_surrogate(points, log_prob)
        except np.linalg.LinAlgError:  # then the other proposers have the batch
            return None, memory
        draws, _ = surrogate.draw(_NUM_DRAWS, rng, power=_POWER)
        chosen = draws[_choose(surrogate, draws, _num_next(len(points), view), rng)]
        predicted = surrogate.predict(chosen)[0]
        return Probe(chosen), replace(
            memory,
            points=np.concatenate([memory.points, chosen]),
            predicted=np.concatenate([memory.predicted, predicted]),
        )

    def learn(self, memory: SearchMemory, log_prob: Array) -> SearchMemory:
        """With the log-densities of the last points."""
        return replace(memory, log_prob=np.concatenate([memory.log_prob, log_prob]))


@dataclass(frozen=True, eq=False)
class SurrogateAnswer:
    """All evaluated points with weights that make them represent the surrogate's density.

    ``log_evidence_error`` is the surrogate's own; ``prediction_error`` the median error, in nats, of its last
    predictions, and ``evidence_rise`` what the last third of the points added to the log-evidence.
    """

    points: Array
    weights: Array
    log_prob: Array
    log_evidence: float
    log_evidence_error: float
    prediction_error: float
    num_predicted: int
    evidence_rise: float


def find_answer(state: AdaptiveState) -> SurrogateAnswer | None:
    """The surrogate's answer; None if it did not choose most of the points."""
    memory = state.memories.get(SurrogateSearch.name)
    if memory is None or len(memory.log_prob) < len(state.archive):
        return None
    points, log_prob = _gather(state.archive, memory)
    surrogate = fit_surrogate(points, log_prob)
    draws, log_evidence = surrogate.draw(_NUM_ANSWER_DRAWS, np.random.default_rng(0), num_moves=_NUM_ANSWER_MOVES)
    earlier = fit_surrogate(*(each[: int((1 - _LAST_FRACTION) * len(points))] for each in (points, log_prob)))
    before = _correct(earlier, *earlier.draw(_NUM_DRAWS, np.random.default_rng(0)))
    log_evidence = _correct(surrogate, draws, log_evidence)
    inside = np.isfinite(log_prob)
    weights = np.zeros(len(points))
    weights[inside] = quadrature_weights(points[inside], draws)
    errors = _last_errors(memory)
    return SurrogateAnswer(
        points,
        weights,
        log_prob,
        log_evidence=log_evidence,
        log_evidence_error=float(np.sqrt(surrogate.covariance(draws[::4]).mean() + 1 / len(draws))),
        prediction_error=float(np.median(errors)),
        num_predicted=len(errors),
        evidence_rise=log_evidence - before,
    )


def _correct(surrogate: LocalSurrogate, draws: Array, log_evidence: float) -> float:
    """The log-evidence by the surrogate's mean, from that of the density which the draws are of, and which is lower."""
    ratio = surrogate.predict(draws)[0] - surrogate.log_density(draws)
    return log_evidence + float(log_sum_exp(ratio) - np.log(len(draws)))


def _gather(archive: WeightedArchive, memory: SearchMemory) -> tuple[Array, Array]:
    """All points whose log-densities are known, with these."""
    known = memory.points[: len(memory.log_prob)]
    return np.concatenate([archive.points, known]), np.concatenate([archive.log_prob, memory.log_prob])


def _num_next(num_points: int, view: View) -> int:
    number = max(4, view.archive.dimension // 2 + 2, int(_BATCH_FRACTION * num_points))
    return view.num_left if view.num_left < 1.5 * number else number


def _choose(surrogate: LocalSurrogate, draws: Array, number: int, rng: np.random.Generator) -> IntegerArray:
    """Rows of the draws: the first half of the number at random, then each where the variance given all is largest."""
    covariance = surrogate.covariance(draws)
    weights = normalize((1 - _POWER) * surrogate.log_density(draws))
    random = rng.permutation(systematic_resample(weights, len(draws), rng))
    chosen: list[int] = []
    for place in range(min(number, len(draws))):
        row = int(random[place]) if 2 * place < number else int(np.argmax(np.diag(covariance)))
        along = covariance[row]
        covariance = covariance - np.outer(along, along) / (along[row] + _TINY_VARIANCE)
        chosen.append(row)
    return np.array(chosen)


def _last_errors(memory: SearchMemory) -> Array:
    """By how many nats the last predictions were wrong; infinite outside the support."""
    number = max(_MIN_LAST, int(_LAST_FRACTION * len(memory.log_prob)))
    predicted = memory.predicted[: len(memory.log_prob)]
    return np.abs(memory.log_prob[-number:] - predicted[-number:])
