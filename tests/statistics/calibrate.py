"""Print each sampler's recovery error over many seeds: where the tolerances of test_recovery.py come from.

Run ``python tests/statistics/calibrate.py 40`` for 40 seeds.
"""

import sys

import numpy as np
from sampler_problems import BREAK, SAMPLERS, TARGETS, recovery_error

if __name__ == "__main__":
    num_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for sampler_name, create in SAMPLERS.items():
        for target_name, target in TARGETS.items():
            errors = [recovery_error(create(target), target, seed) for seed in range(num_seeds)]
            broken = {
                name: min(recovery_error(break_it(create(target)), target, seed) for seed in range(3))
                for name, break_it in BREAK.items()
            }
            print(
                f"{sampler_name:30s} {target_name:15s}",
                f"median {np.median(errors):.3f} largest {max(errors):.3f}   broken:",
                ", ".join(f"{name} {error:.2f}" for name, error in broken.items()),
                flush=True,
            )
