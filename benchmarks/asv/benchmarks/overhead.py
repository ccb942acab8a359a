"""What a run costs beside the target: seconds of the sampler itself, memory, and the import."""

import subprocess
import sys

import numpy as np

import steinbox as sb


class Default:
    """Whole runs of the default on targets that cost nothing."""

    params = ("gaussian10", "banana2", "two_modes4")
    param_names = ("target",)
    timeout = 120

    def setup(self, target):
        targets = {
            "gaussian10": (sb.Gaussian(np.zeros(10), std=1), 10),
            "banana2": (sb.targets.Banana(), 2),
            "two_modes4": (sb.targets.separated_modes(4), 4),
        }
        self.target, dimension = targets[target]
        self.start = sb.Gaussian(np.zeros(dimension), std=3)

    def _run(self):
        settings = {"num_particles": 100, "max_evals": 2_000, "vectorized": True, "progress": False, "seed": 0}
        return sb.sample(self.target.log_prob, self.start, **settings)

    def time_2000_evaluations(self, target):
        self._run()

    def peakmem_2000_evaluations(self, target):
        self._run()

    def track_evaluations(self, target):
        return self._run().num_evals

    track_evaluations.unit = "evaluations"


class Evaluator:
    """One call after another of a function that does nothing: importance sampling draws and weights, no more."""

    def time_1000_calls(self):
        sb.sample(
            lambda x: 0.0,
            sb.Gaussian([0.0, 0.0], std=1),
            method=sb.baselines.ImportanceSampling(),
            num_particles=1_000,
            max_evals=1_000,
            progress=False,
            seed=0,
        )


def timeraw_import():
    """Seconds of ``import steinbox`` in a fresh interpreter."""
    return "import steinbox"


def time_help():
    """Seconds of the command line until it says what it can do."""
    subprocess.run([sys.executable, "-m", "steinbox", "--help"], check=True, capture_output=True)
