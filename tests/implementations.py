"""Every sampler and surrogate of the package, one row each: the tests of what all must do go through these tables.

Who adds one adds a row; ``test_every_*`` fails if a public name has none.
"""

import steinbox as sb
from steinbox import baselines, surrogates
from steinbox.samplers import adaptive

SAMPLERS = {  # one or more settings of each class
    "default": sb.AdaptiveImportanceSampling(),
    "annealed gf-svgd": sb.AnnealedGFSVGD(),
    "gf-svgd": sb.GFSVGD(),
    "annealed svgd": sb.AnnealedSVGD(),
    "svgd": sb.SVGD(),
    "importance sampling": baselines.ImportanceSampling(),
    "random walk": baselines.RandomWalkMetropolis(),
    "fixed walk": baselines.RandomWalkMetropolis(step=0.5),
    "adaptive metropolis": baselines.AdaptiveMetropolis(),
    "differential evolution": baselines.DifferentialEvolution(),
    "kamh": baselines.KAMH(),
    "khmc": baselines.KHMC(),
    "khmc finite": baselines.KHMC(family="finite"),
    "smc": baselines.SMC(),
    "ais": baselines.AIS(),
    "gf-ais": baselines.GFAIS(),
}

SURROGATES = {
    "flat": surrogates.Flat(),
    "gaussian": surrogates.Gaussian([0.0, 0.0, 0.0], std=[1.0, 2.0, 0.5]),
    "mixture": surrogates.GaussianMixture(
        [surrogates.Gaussian([0, 0, 0], std=1), surrogates.Gaussian([1, 1, 0], std=2)]
    ),
    "fitted gaussian": surrogates.FittedGaussian(),
    "kernel curve": surrogates.KernelCurve(),
    "interpolant": surrogates.Interpolant(),
    "smoother": surrogates.Smoother(),
}
FOR_A_SAMPLE = ("LeaveOneOut", "PassThrough", "SampleSurrogate")  # these have values at its points only

PROPOSERS = {  # of the default, and the search with a surrogate, which is asked for
    "fitted family": adaptive.FittedFamily(),
    "quadratic fit": adaptive.QuadraticFit(),
    "thin tail": adaptive.ThinTail(),
    "climbs": adaptive.Climbs(),
    "surrogate refinement": adaptive.SurrogateRefinement(),
    "repeats": adaptive.Repeats(),
    "surrogate search": adaptive.SurrogateSearch(),
}
