"""Fixtures that every test may use."""

import signal

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("steinbox", derandomize=True, deadline=None)
hypothesis.settings.load_profile("steinbox")

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs start with Ctrl-C ignored, and tests send it


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20180)
