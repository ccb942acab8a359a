"""emcee with differential evolution, one step in ten of full length; its snooker move is biased in 3.1.6."""

from __future__ import annotations

import emcee
import numpy as np
from counting import Counted
from problems import Problem

from peers import with_emcee


def run(problem: Problem, log_prob: Counted, budget: int, seed: int) -> np.ndarray:
    moves = [(emcee.moves.DEMove(), 0.9), (emcee.moves.DEMove(gamma0=1.0), 0.1)]
    return with_emcee.run(problem, log_prob, budget, seed, moves)
