"""emcee with 256 walkers, of which 128 workers can evaluate half at once; otherwise as in ``benchmarks/peers``."""

from __future__ import annotations

from functools import partial

import with_emcee

PACKAGES = with_emcee.PACKAGES
run = partial(with_emcee.run, num_walkers=256)
