"""The table of a result, as text and in a notebook."""

import numpy as np
import pytest

from steinbox import Status
from steinbox.run.summary import Summary


@pytest.fixture
def summary():
    return Summary(
        names=("a", "<script>"),
        mean=np.array([1.0, 12345.678]),
        sd=np.array([0.5, 0.0]),
        mcse=np.array([0.05, 0.0]),
        quantiles=np.array([[0.1, 1.0], [1.0, 1.0], [2.0, 1.0]]),
        status=Status.FINISHED,
        warnings=("Something & more.",),
    )


def test_the_text_has_numbers_status_and_warnings(summary):
    header, first, second, *sentences = str(summary).splitlines()
    assert header.split() == ["parameter", "mean", "mcse", "sd", "5%", "50%", "95%", "ess"]
    assert first.split() == ["a", "1", "0.05", "0.5", "0.1", "1", "2", "100"]
    assert second.split() == ["<script>", "1.235e+04", "0", "0", "1", "1", "1", "nan"]
    assert sentences == [str(Status.FINISHED), "Warning: Something & more."]
    assert repr(summary) == str(summary)


def test_the_effective_sample_size_is_that_of_the_error(summary):
    np.testing.assert_allclose(summary.effective_sample_size, [100, np.nan])


def test_html_shows_names_and_runs_nothing(summary):
    html = summary._repr_html_()
    assert html.startswith("<table>")
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "Warning: Something &amp; more." in html
