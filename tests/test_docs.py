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


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@every_page
def test_files_and_rooms_that_a_page_names_exist(page):
    named = set(re.findall(r"`((?:[\w-]+/)+(?:[\w-]+\.py)?)`", page.read_text()))
    missing = [name for name in named if not any((folder / name).exists() for folder in WHERE)]
    assert [name for name in missing if not OF_THE_READER.fullmatch(name)] == []


MAP = [line for line in (ROOT / "docs/design.md").read_text().splitlines() if re.match(r"\| [a-z].*`", line)]


def files_of(row):
    """The files of a row of the map, those of rooms included; and what else it names."""
    named = re.findall(r"`([^`]+)`", row)
    paths = [folder / name for name in named if "/" in name for folder in WHERE if (folder / name).exists()]
    files = [each for path in paths for each in ([path] if path.is_file() else path.rglob("*.py"))]
    return files, [name for name in named if "/" not in name and not name.endswith(".md")]


def test_what_a_row_of_the_map_names_is_in_its_files():
    assert len(MAP) > 25
    for row in MAP:
        files, names = files_of(row)
        text = "\n".join(path.read_text() for path in files)
        missing = [name for name in names if name.removeprefix("sb.").rstrip("=") not in text]
        assert missing == [], row


def test_every_file_that_gives_advice_is_on_the_map():
    """Where warnings have their texts."""
    advice = re.compile(r"Allow more|[Ss]tart (closer|wider)")
    advising = {path for path in (ROOT / "src").rglob("*.py") if advice.search(path.read_text())}
    assert len(advising) > 3
    assert advising <= {path for row in MAP for path in files_of(row)[0]}


@every_page
def test_public_names_that_a_page_uses_exist(page):
    for name in set(re.findall(r"\bsb\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", page.read_text())):
        operator.attrgetter(name)(sb)


@pytest.mark.parametrize(
    ("name", "num_tables"),
    [
        ("docs/benchmarks.md", 3),
        ("docs/calibration.md", 2),
        ("docs/choose.md", 2),
        ("docs/published.md", 10),
        ("docs/real.md", 5),
        ("docs/reproduction.md", 9),
        ("README.md", 1),
    ],
)
def test_the_tables_of_the_docs_are_those_of_the_results(name, num_tables):
    tables = load_script("tables")
    page = (ROOT / name).read_text()
    assert tables.with_tables(page) == page
    assert page.count("<!-- end of ") >= num_tables


def test_what_a_page_would_load_from_elsewhere_is_seen(tmp_path):
    loads = load_script("loads")
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="canonical" href="https://a"><a href="https://b">text</a><script src="https://c/x.js"></script>'
        '<link rel="stylesheet" href="//d/x.css"><img src="own.png" style="background: url(https://e/x.png)">'
        "<style>@import 'https://f/x.css'; p {background: url(own.png)}</style>"
    )
    assert loads.loads(page) == ["https://c/x.js", "//d/x.css", "https://e/x.png", "https://f/x.css"]
    assert loads.main(tmp_path) == 1
    page.write_text('<a href="https://b">text</a>')
    assert loads.main(tmp_path) == 0


def test_the_version_is_the_same_everywhere():
    versions = {name: (ROOT / name).read_text() for name in ("CITATION.cff", "recipe/recipe.yaml", "CHANGELOG.md")}
    patterns = {"CHANGELOG.md": r"^## (\S+)"}
    found = {
        name: re.search(patterns.get(name, r"^ *version: (\S+)$"), text, re.MULTILINE)[1]
        for name, text in versions.items()
    }
    assert set(found.values()) == {sb.__version__}, found
