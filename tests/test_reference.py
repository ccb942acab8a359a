"""Every public name is in the reference, and the reference names nothing else."""

import re
from importlib import import_module
from inspect import isclass, isfunction, ismodule
from pathlib import Path

import pytest

import steinbox as sb

PAGES = sorted((Path(__file__).parent.parent / "docs" / "reference").glob("*.md"))
ENTRY = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def find(path):
    """The object behind a dotted path, also if a module on the way is known by another name."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError:
        return getattr(find(module), name)


def public_names(module, path):
    """Of a module and its public modules: those of ``__all__``, else what it defines without an underscore."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (isclass(value) or isfunction(value)) and value.__module__ == module.__name__
    ]
    for name in getattr(module, "__all__", own):
        value = getattr(module, name)
        yield from public_names(value, f"{path}.{name}") if ismodule(value) else [(f"{path}.{name}", value)]


@pytest.fixture(scope="module")
def documented():
    entries = [entry for page in PAGES for entry in ENTRY.findall(page.read_text())]
    assert len(entries) == len(set(entries)), "a name is there twice"
    return [find(entry) for entry in entries]


PUBLIC = dict(public_names(sb, "steinbox"))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_in_the_reference(name, documented):
    assert any(PUBLIC[name] is each for each in documented), f"{name} is on no page of docs/reference"


def test_every_page_of_the_reference_is_in_its_index():
    index = (PAGES[0].parent / "index.md").read_text()
    assert [page.name for page in PAGES if page.name != "index.md" and f"({page.name})" not in index] == []
