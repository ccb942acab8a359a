"""The notebooks of the docs run; and what a notebook shows of a run is seen without asking, also when it was saved."""

import importlib.util
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

spec = importlib.util.spec_from_file_location("docs_notebooks", Path(__file__).parent.parent / "docs" / "notebooks.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)


def kinds_of_outputs(notebook):
    """Of each cell, the forms in which each of its outputs is there."""
    return [
        [sorted(each.get("data", [each.get("name")])) for each in cell.get("outputs", ())] for cell in notebook.cells
    ]


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_of_the_docs_runs_and_shows_what_it_is_kept_with(path):
    kept = nbformat.read(path, as_version=4)
    assert kinds_of_outputs(notebooks.execute(path)) == kinds_of_outputs(kept)
    assert "ipykernel_" not in path.read_text()


@pytest.fixture(scope="module")
def outputs():
    """What each cell shows."""
    sources = [
        """
import steinbox as sb
def log_prob(x):
    if x[0] > 2.5:
        raise ValueError("<b>tangled</b>")
    return -0.5 * float(x @ x)
start, settings = sb.Gaussian([0.0, 0.0], std=2.0), {"max_evals": 600, "num_particles": 50, "seed": 0}
result = sb.sample(log_prob, start, **settings)""",
        "silent = sb.sample(log_prob, start, **settings, progress=False)",
        "sb.sample(log_prob, start, **settings, callback=lambda iteration: 1 / 0)",
        *(
            "result",
            "result.summary()",
            "result.diagnostics()",
            "result.failures",
            "sb.plotting.corner(result)",
        ),
        "import matplotlib.pyplot\nsb.plotting.corner(result)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources])
    nbclient.NotebookClient(notebook, timeout=120, allow_errors=True).execute()
    names = ("sample", "silent", "error", "result", "summary", "diagnostics", "failures", "plot", "plot with pyplot")
    return {name: cell.outputs for name, cell in zip(names, notebook.cells, strict=True)}


def test_the_bar_is_there_without_asking_and_leaves_a_sentence(outputs):
    (bar,) = outputs["sample"]
    assert bar.data["text/plain"].startswith("600 evaluations, ")
    assert bar.data["text/plain"] in bar.data["text/html"]
    assert set(bar.data) == {"text/plain", "text/html"}  # no widget, of which a saved notebook would show nothing
    assert outputs["silent"] == []


def test_an_error_leaves_the_sentence_too(outputs):
    bar, error = outputs["error"]
    assert " evaluations, " in bar.data["text/plain"]
    assert error.ename == "CallbackError"


@pytest.mark.parametrize("name", ["result", "summary", "diagnostics", "failures"])
def test_what_is_printed_as_text_is_shown_as_html(name, outputs):
    (shown,) = outputs[name]
    assert shown.data["text/html"].startswith(("<p>", "<table>"))


def test_failures_are_a_table_and_not_interpreted(outputs):
    (shown,) = outputs["failures"]
    assert "&lt;b&gt;tangled&lt;/b&gt; (line 4 of a cell)" in shown.data["text/html"]
    assert "<b>tangled</b> (line 4 of a cell)" in shown.data["text/plain"]


@pytest.mark.parametrize("name", ["plot", "plot with pyplot"])
def test_a_picture_is_shown_once(name, outputs):
    (shown,) = outputs[name]
    assert len(shown.data["image/png"]) > 5_000
