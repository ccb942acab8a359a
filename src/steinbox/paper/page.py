"""One HTML page with the figures and the claims of all experiments that were run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import steinbox
from steinbox.paper.claims import Claim
from steinbox.paper.table import Table

if TYPE_CHECKING:
    from steinbox.paper.reproduce import Reproduction

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1.5rem; }
figure { margin: 1rem 0; overflow-x: auto; } img { max-width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #ddd; }
.holds { color: #1a7f37; } .part { color: #9a6700; } .fails { color: #b3202c; }
.verdict { font-weight: 600; } code { background: #f3f3f3; padding: .1rem .3rem; } p.note { color: #555; }
"""


def write_page(path: Path, done: Sequence[Reproduction], command: str) -> None:
    """Write the page; its pictures lie beside it."""
    body = "".join(_experiment_section(each) for each in done)
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>steinbox reproduce</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>Stein variational gradient descent without gradient: the figures and their claims</h1>"
        f"<p><code>{escape(command)}</code>, steinbox {escape(steinbox.__version__)}, {date.today()}. "
        "Errors are log10 of MMD² or of the mean squared error, mean ± standard deviation over seeds; lower is better. "
        "One method counts as below another if the difference, seed by seed, is beyond two standard errors (with one "
        "seed: if it is below at all), and as not above if the mean difference is not.</p>"
        f"{_overview(done)}{body}</body></html>\n",
        encoding="utf-8",
    )


def _overview(done: Sequence[Reproduction]) -> str:
    links = "".join(
        f'<li><a href="#{each.experiment.name}">{escape(each.experiment.title)}</a>: {_count(each.claims)}</li>'
        for each in done
    )
    return f"<ul>{links}</ul>"


def _count(claims: Sequence[Claim]) -> str:
    kinds = [_verdict_class(claim) for claim in claims]
    names = {"holds": "hold", "part": "hold in part", "fails": "do not hold"}
    return ", ".join(f"{kinds.count(kind)} {name}" for kind, name in names.items() if kind in kinds)


def _verdict_class(claim: Claim) -> str:
    answers = {finding.holds for finding in claim.findings}
    return "holds" if answers == {True} else "fails" if answers == {False} else "part"


def _experiment_section(done: Reproduction) -> str:
    name = done.experiment.name
    pictures = "".join(
        f'<figure><img src="{path.name}" alt="{escape(done.experiment.title)} {escape(title)}"></figure>'
        for title, path in done.figures.items()
    )
    return (
        f'<h2 id="{name}">{escape(done.experiment.title)}</h2>{pictures}{_claims_table(done.claims)}'
        f"{_summary_table(done.experiment.summary(done.table))}"
        f'<p class="note">{_count_runs(done.table)} <a href="{name}.csv">All rows</a>.</p>'
    )


def _summary_table(lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    head, *rest = lines
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in line) for line in rest]
    heading = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<h3>Final values of all methods</h3><table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"


def _count_runs(table: Table) -> str:
    num_seeds = len({row.seed for row in table})
    return f"{len(table.tasks):,} runs, {num_seeds} seed{'s' if num_seeds != 1 else ''}."


def _claims_table(claims: Sequence[Claim]) -> str:
    heading = "<tr><th>claim</th><th>where</th><th>setting</th><th>measured</th><th>verdict</th></tr>"
    return f"<table><thead>{heading}</thead><tbody>{''.join(map(_claim_rows, claims))}</tbody></table>"


def _claim_rows(claim: Claim) -> str:
    rows = []
    span = f' rowspan="{len(claim.findings)}"'
    for number, finding in enumerate(claim.findings):
        first = f"<td{span}>{escape(claim.statement)}</td><td{span}>{escape(claim.source)}</td>" if not number else ""
        last = f'<td{span} class="verdict {_verdict_class(claim)}">{escape(claim.verdict)}</td>' if not number else ""
        mark = '<td class="holds">✓ ' if finding.holds else '<td class="fails">✗ '
        rows.append(f"<tr>{first}{mark}{escape(finding.setting)}</td><td>{escape(finding.measured)}</td>{last}</tr>")
    return "".join(rows)
