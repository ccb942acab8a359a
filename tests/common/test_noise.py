"""What the noise is assumed to be."""

import pytest

import steinbox as sb
from steinbox.common.noise import as_noise


def test_a_number_is_the_standard_deviation_of_log_p():
    assert as_noise(0.5) == sb.Noise(0.5, is_unbiased=False)
    assert as_noise(True) == sb.Noise()
    assert as_noise(False) is None
    assert as_noise(None) is None
    assert as_noise(sb.Noise(2.0, is_unbiased=True)) == sb.Noise(2.0, is_unbiased=True)


def test_an_unbiased_estimate_of_p_is_low_on_the_logarithmic_scale():
    assert sb.Noise(is_unbiased=True).offset(3.0) == 4.5
    assert sb.Noise().offset(3.0) == 0.0


@pytest.mark.parametrize("std", [0.0, -1.0, float("inf"), "1"])
def test_nonsense_is_refused(std):
    with pytest.raises(ValueError, match="expected std to be a positive number of nats"):
        sb.Noise(std)
