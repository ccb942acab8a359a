"""What a newcomer does after the demo: opens the report, and runs the tutorial and the notebooks as they stand.

Called by ``newcomer.sh`` in an environment that has the wheel and not the repository.
"""

import importlib.util
import re
import sys
import time
from pathlib import Path


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def open_report(repository, report):
    browser = load(repository / "tests" / "browser.py")
    if browser.CHROMIUM is None:
        print("   no Chromium: the report was not opened")
        return
    window = browser.Browser()
    try:
        window.open(report)
        assert "Can I trust this?" in window.evaluate("document.body.innerText")
        assert window.evaluate("document.querySelectorAll('canvas, svg').length") > 0
        assert window.errors() == [], window.errors()
    finally:
        window.close()
    print("   the report is shown, without an error and without a request")


def run_tutorial(repository):
    """Its blocks, one after the other, as somebody would paste them."""
    page = (repository / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    namespace = {}
    for block in blocks:
        exec(block, namespace)


def run_notebooks(repository):
    notebooks = load(repository / "docs" / "notebooks.py")
    for path in notebooks.NOTEBOOKS:
        notebook = notebooks.execute(path)
        print(f"   {path.name}: {len(notebook.cells)} cells")


if __name__ == "__main__":
    repository, report = map(Path, sys.argv[1:])
    start = time.monotonic()
    open_report(repository, report)
    run_tutorial(repository)
    run_notebooks(repository)
    print(f"   {time.monotonic() - start:.0f} s")
