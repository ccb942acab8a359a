r"""What the noise of an estimated log-density is assumed to be."""

from __future__ import annotations

from dataclasses import dataclass

from steinbox.common.checks import is_number, require_noise


@dataclass(frozen=True)
class Noise:
    r"""Normal noise of one standard deviation :math:`\sigma` everywhere, in one of two ways.

    A value y at x, with :math:`\varepsilon \sim N(0, 1)`, is

    .. math:: y = \log p(x) + \sigma\varepsilon \qquad\text{or}\qquad
              y = \log p(x) - \tfrac{\sigma^2}{2} + \sigma\varepsilon ,

    the second if ``is_unbiased``: then :math:`E\, e^y = p(x)`, as it is for the estimates of particle filters and of
    importance sampling (pseudo-marginal methods; Andrieu & Roberts, 2009). In the first, which is the default, y itself
    is unbiased, as are synthetic likelihoods and sums of estimated log-densities.

    Parameters
    ----------
    std : float, optional
        The :math:`\sigma`, in nats. If not given, it is estimated by evaluations at one point.
    is_unbiased : bool
        Whether :math:`e^y` is unbiased for p, instead of y for log p.

    References
    ----------
    C. Andrieu & G. O. Roberts (2009). The pseudo-marginal approach for efficient Monte Carlo computations. *Annals of
    Statistics* 37, 697–725.

    Examples
    --------
    >>> Noise(2.0).offset(2.0), Noise(2.0, is_unbiased=True).offset(2.0)
    (0.0, 2.0)
    """

    std: float | None = None
    is_unbiased: bool = False

    def __post_init__(self) -> None:
        if self.std is not None and not (is_number(self.std) and 0 < self.std < float("inf")):
            raise ValueError(f"expected std to be a positive number of nats, or None to estimate it, got {self.std!r}")

    def offset(self, std: float) -> float:
        r"""By how much log p is above the mean of y, if this is :math:`\sigma`."""
        return 0.5 * std**2 if self.is_unbiased else 0.0


def as_noise(noise: float | bool | Noise | None) -> Noise | None:
    """What a standard deviation, True or False stand for; refuses anything else."""
    if noise is None or noise is False or isinstance(noise, Noise):
        return noise or None
    require_noise(noise)
    return Noise() if noise is True else Noise(float(noise))
