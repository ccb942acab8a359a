"""Writes the tables of docs/benchmarks.md and README.md anew from benchmarks/results/: ``python docs/tables.py``."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"


def with_tables(page: str) -> str:
    """The page with every table between its markers as the results have it now."""

    def table(match: re.Match[str]) -> str:
        name = match["name"]
        text = (RESULTS / f"{name}.md").read_text().strip().removeprefix("# The cost of one SVGD update").strip()
        return f"<!-- {name} -->\n\n{text}\n\n<!-- end of {name} -->"

    return re.sub(r"<!-- (?P<name>\w+) -->.*?<!-- end of (?P=name) -->", table, page, flags=re.DOTALL)


if __name__ == "__main__":
    for path in (DOCS / "benchmarks.md", DOCS.parent / "README.md"):
        path.write_text(with_tables(path.read_text()))
