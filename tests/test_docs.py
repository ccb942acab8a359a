"""The docs say what the results say."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_tables_of_the_docs_are_those_of_the_results():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert tables.with_tables(page) == page
    assert page.count("| --- |") + page.count("|---|") >= 3


@pytest.mark.parametrize("problem", ["gauss2", "gmm25", "banana2"])
def test_the_readme_quotes_the_accuracy_that_was_measured(problem):
    rows = (ROOT / "benchmarks" / "results" / "agf_accuracy.md").read_text().splitlines()
    measured = [row.split("|")[4].split("±")[0].strip().replace("-", "−") for row in rows if f"| {problem} |" in row]
    assert len(measured) == 3
    assert f"| {' | '.join(measured)} |" in (ROOT / "README.md").read_text()
