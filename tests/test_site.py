"""What the site is made with: docstrings into Markdown, formulas into MathML, outputs compared with what is printed."""

import ast
import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

griffe = pytest.importorskip("griffe", reason="griffe is not installed")
pytest.importorskip("latex2mathml", reason="latex2mathml is not installed")
pytest.importorskip("mkdocs", reason="mkdocs is not installed")

ROOT = Path(__file__).parent.parent


def load(path):
    spec = importlib.util.spec_from_file_location(f"site_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


docstrings, formulas, root_pages = (
    load(ROOT / "docs" / f"{name}.py") for name in ("docstrings", "formulas", "root_pages")
)
pages = load(ROOT / "conftest.py")


@pytest.fixture
def owner():
    """A module that has an ``f``."""
    module = griffe.Module("steinbox")
    module["f"] = griffe.Function("f")
    return module["f"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the weights :math:`w_i\n= 1`", "the weights $w_i = 1$"),
        ("``x`` and ``y``", "`x` and `y`"),
        (
            "see :func:`steinbox.sample`",
            'see <autoref identifier="steinbox.sample" optional>`steinbox.sample`</autoref>',
        ),
        (":class:`~steinbox.Gaussian`", '<autoref identifier="steinbox.Gaussian" optional>`Gaussian`</autoref>'),
        (":func:`f`", '<autoref identifier="steinbox.f" optional>`f`</autoref>'),
        (":meth:`Elsewhere.go`", '<autoref identifier="Elsewhere.go" optional>`Elsewhere.go`</autoref>'),
        (".. math:: a\n          + b\n\nthen", "\n$$ a + b $$\n\nthen"),
        (".. code-block:: text\n\n   a ─► b\n", "```text\na ─► b\n```\n\n"),
        ("a : one of :mod:`~steinbox.surrogates`\n    It.", "a : one of surrogates\n    It."),
        ("a, b\n    Both.\n", "a\n    Both.\nb\n    Both.\n"),
        ("===  ===\nx    y\n===  ===\n``a``  b\n===  ===", "```text\n===  ===\nx    y\n===  ===\na  b\n===  ===\n```"),
    ],
)
def test_a_docstring_becomes_markdown(text, expected, owner):
    assert docstrings.to_markdown(text, owner) == expected


def all_docstrings():
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for path in sorted((ROOT / "src").rglob("*.py")):
        nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, documented))
        yield from filter(None, map(ast.get_docstring, nodes))


def test_no_role_and_no_directive_is_left_in_any_docstring(owner):
    converted = [docstrings.to_markdown(text, owner) for text in all_docstrings()]
    assert len(converted) > 1000
    assert [text for text in converted if re.search(r":\w+:`|^ *\.\. [\w-]+::", text, re.MULTILINE)] == []


def test_a_formula_becomes_mathml():
    page = '<p><span class="arithmatex">\\(a &lt; 1\\)</span></p><div class="arithmatex">\\[\n\\frac{1}{n}\n\\]</div>'
    tree = ElementTree.fromstring(f"<body>{formulas.on_page_content(page)}</body>")
    inline, block = tree.iter("{http://www.w3.org/1998/Math/MathML}math")
    assert "".join(inline.itertext()).split() == ["a<1"]
    assert block.get("display") == "block"
    assert block.find(".//{http://www.w3.org/1998/Math/MathML}mfrac") is not None


@pytest.mark.parametrize(
    ("shown", "printed", "agree"),
    [
        ("mean 1.00, 2,000 calls", "mean 1.02,  2,100 calls", True),
        ("mean 1.00", "mean 1.50", False),
        ("mean 1.00", "mean −1.00", False),
        ("mean 0.01", "mean 0.02", True),
        ("[1. 2.]", "[1. 2. 3.]", False),
        ("The budget was spent.", "The method has converged.", False),
        ("1e-3 and 100", "1.1e-3 and 500", False),
    ],
)
def test_outputs_agree_in_words_and_nearly_in_numbers(shown, printed, agree):
    assert pages._agree(shown, printed) is agree


def test_links_of_pages_at_the_root_lead_to_pages_of_the_site():
    text = "[a](docs/design.md#rooms), [b](CONTRIBUTING.md), [c](https://docs/x)"
    assert root_pages.with_links_from_docs(text) == "[a](design.md#rooms), [b](contributing.md), [c](https://docs/x)"
