"""Draws the figures of docs/reproduction and its page anew from the rows there: ``python docs/figures.py``.

Nothing is run, except the particles of Figure 1 on their way, which takes seconds.
"""

from __future__ import annotations

from pathlib import Path

from steinbox.paper.figures import EXPERIMENTS, Table
from steinbox.paper.page import write_page
from steinbox.paper.reproduce import draw

FOLDER = Path(__file__).parent / "reproduction"


if __name__ == "__main__":
    tables = {each: Table.read(each.table_path(FOLDER)) for each in EXPERIMENTS.values()}
    done = [draw(experiment, table, FOLDER) for experiment, table in tables.items() if len(table)]
    write_page(FOLDER / "reproduction.html", done, "steinbox reproduce all --full")
