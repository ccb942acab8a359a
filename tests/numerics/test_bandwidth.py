"""Each rule against its formula, and errors in words."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from steinbox.numerics.bandwidth import Fixed, Median, as_rule


@pytest.mark.parametrize(
    ("rule", "factor"),
    [
        ("paper", lambda n: 1 / (2 * np.log(n + 1))),
        ("liu-wang", lambda n: 1 / np.log(n + 1)),
        ("median", lambda n: 1.0),
        (Median(0.3), lambda n: 0.3),
    ],
)
def test_rules_are_their_formulas(rule, factor, rng):
    x = rng.standard_normal((31, 4))
    assert as_rule(rule)(x) == pytest.approx(factor(31) * np.median(pdist(x)) ** 2, rel=1e-10)


def test_a_number_and_a_function_are_rules(rng):
    x = rng.standard_normal((5, 2))
    assert as_rule(2.5)(x) == 2.5
    assert as_rule(lambda points: len(points))(x) == 5


@pytest.mark.parametrize(
    ("bandwidth", "error", "message"),
    [
        ("silverman", ValueError, "unknown bandwidth rule 'silverman'"),
        (-1.0, ValueError, "positive bandwidth, got -1"),
        (None, TypeError, "got None"),
        (Median, TypeError, r"got the class Median; write Median\(\)"),
        (True, TypeError, "got True"),
    ],
)
def test_bad_rules_are_refused_in_words(bandwidth, error, message):
    with pytest.raises(error, match=message):
        as_rule(bandwidth)


def test_coinciding_particles_have_no_median_bandwidth():
    with pytest.raises(ValueError, match="coincide"):
        Median()(np.zeros((4, 2)))


@pytest.mark.parametrize("seed", range(10))
def test_coinciding_particles_are_noticed_through_rounding(seed):
    rng = np.random.default_rng(seed)
    x = np.where(np.arange(100)[:, None] < 80, rng.standard_normal(25), rng.standard_normal((100, 25)))
    with pytest.raises(ValueError, match="coincide"):
        Median()(x)


def test_median_and_fixed_refuse_bad_numbers():
    with pytest.raises(ValueError, match="positive factor"):
        Median(0.0)
    with pytest.raises(ValueError, match="positive bandwidth"):
        Fixed(np.inf)
