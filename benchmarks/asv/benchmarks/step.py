"""The cost of one step: the Stein direction, the surrogate, the choice of particles, the discrepancy."""

import numpy as np

import steinbox as sb


class Step:
    """Two iterations of each Stein sampler, of n particles in ten dimensions; the target costs nothing."""

    params = (("SVGD", "GFSVGD", "AnnealedGFSVGD"), (100, 400))
    param_names = ("method", "particles")

    def setup(self, method, particles):
        self.target = sb.Gaussian(np.zeros(10), std=1)
        self.start = sb.Gaussian(np.zeros(10), std=3)
        self.method = getattr(sb, method)(num_iterations=2)
        self.settings = {"num_particles": particles, "vectorized": True, "progress": False, "seed": 0}
        if method == "SVGD":
            self.settings["score"] = self.target.score

    def time_two_steps(self, method, particles):
        sb.sample(self.target.log_prob, self.start, method=self.method, **self.settings)


class Sample:
    """What is done with n points that are there."""

    params = (200, 1_000)
    param_names = ("points",)

    def setup(self, points):
        self.target = sb.targets.Banana()
        self.points = self.target.sample(points, 0)
        self.log_prob = self.target.log_prob(self.points)

    def time_gf_ksd(self, points):
        sb.gf_ksd(self.points, self.log_prob)

    def time_select(self, points):
        sb.select(self.points, np.ones(points), 50, log_prob=self.log_prob)

    def time_mmd(self, points):
        sb.mmd(self.points, self.points)
