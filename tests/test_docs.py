"""The docs say what the results say."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("name", "num_tables"), [("docs/benchmarks.md", 3), ("docs/reproduction.md", 9), ("README.md", 1)]
)
def test_the_tables_of_the_docs_are_those_of_the_results(name, num_tables):
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = (ROOT / name).read_text()
    assert tables.with_tables(page) == page
    assert page.count("<!-- end of ") >= num_tables
