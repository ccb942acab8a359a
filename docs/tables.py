"""Writes the tables of the docs anew from what was measured: ``python docs/tables.py``.

Those of docs/reproduction.md are made from the rows in docs/reproduction/, all others are in benchmarks/results/.
"""

from __future__ import annotations

import re
from pathlib import Path

from steinbox.paper.claims import claim_table, markdown
from steinbox.paper.figures import EXPERIMENTS, Table

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"
NAMES = ("benchmarks", "calibration", "choose", "published", "real", "reproduction")
PAGES = (*(DOCS / f"{name}.md" for name in NAMES), DOCS.parent / "README.md")


def with_tables(page: str) -> str:
    """The page with every table between its markers as the results have it now."""

    def table(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- {name} -->\n\n{_text(name)}\n\n<!-- end of {name} -->"

    return re.sub(r"<!-- (?P<name>[\w-]+) -->.*?<!-- end of (?P=name) -->", table, page, flags=re.DOTALL)


def _text(name: str) -> str:
    what, _, experiment = name.partition("-of-")
    if experiment not in EXPERIMENTS:
        return (RESULTS / f"{name}.md").read_text().strip().removeprefix("# The cost of one SVGD update").strip()
    chosen = EXPERIMENTS[experiment]
    table = Table.read(chosen.table_path(DOCS / "reproduction"))
    return markdown(claim_table(chosen.claims(table)) if what == "claims" else chosen.summary(table))


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(with_tables(path.read_text()))
