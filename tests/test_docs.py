"""The docs say what the results say."""

import importlib.util
import operator
import re
from pathlib import Path

import pytest

import steinbox as sb
import steinbox.adapters

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/**/*.md"))]
WHERE = [ROOT / each for each in (".", "src/steinbox", "src/steinbox/samplers/adaptive", "src/steinbox/samplers/stein")]
OF_THE_READER = re.compile(r".*/your_\w+\.py")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@every_page
def test_files_and_rooms_that_a_page_names_exist(page):
    named = set(re.findall(r"`((?:[\w-]+/)+(?:[\w-]+\.py)?)`", page.read_text()))
    missing = [name for name in named if not any((folder / name).exists() for folder in WHERE)]
    assert [name for name in missing if not OF_THE_READER.fullmatch(name)] == []


@every_page
def test_public_names_that_a_page_uses_exist(page):
    for name in set(re.findall(r"\bsb\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", page.read_text())):
        operator.attrgetter(name)(sb)


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
