"""An extension of Griffe: docstrings are written in reStructuredText; mkdocstrings wants Markdown.

Roles become code that links to where the name is documented, if it is; formulas come between dollars; literal blocks
and simple tables are fenced.
"""

from __future__ import annotations

import re
import textwrap

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`(?P<short>~?)(?P<target>[^`]+)`")
MATH = re.compile(r":math:`(?P<formula>[^`]+)`")
BLOCK = re.compile(
    r"^(?P<indent> *)\.\. (?P<kind>math|code-block):: ?(?P<first>.*)(?:\n|\Z)(?P<rest>(?:(?P=indent) +\S.*\n?|\s*\n)*)",
    re.M,
)
TABLE = re.compile(r"^(?P<rule>=+(?: +=+)+)\n(?:.*\n)*?(?P=rule)\n(?:.*\n)*?(?P=rule)$", re.M)
LITERAL = re.compile("(?<!`)``(?!`)")
TYPE = re.compile(r"^\w+(?:, \w+)* : .*$", re.M)  # of a parameter: shown as code as it is
SHARED = re.compile(r"^(?P<names>\w+(?:, \w+)+)\n(?P<text>(?: +\S.*\n?)+)", re.M)


class Markdown(griffe.Extension):
    """Turns the docstring of every object into Markdown."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value, obj)


def to_markdown(text: str, obj: griffe.Object) -> str:
    """The docstring without roles and directives."""
    text = BLOCK.sub(_fence, text)
    text = TABLE.sub(lambda match: f"```text\n{ROLE.sub(_name, match[0]).replace('``', '')}\n```", text)
    text = TYPE.sub(lambda match: ROLE.sub(_name, match[0]), text)
    text = SHARED.sub(_separate, text)
    text = MATH.sub(lambda match: f"${' '.join(match['formula'].split())}$", text)
    text = ROLE.sub(lambda match: _link(match, obj), text)
    return LITERAL.sub("`", text)


def _fence(match: re.Match[str]) -> str:
    indent, body = match["indent"], textwrap.dedent(match["rest"]).strip("\n")
    if match["kind"] == "code-block":
        return textwrap.indent(f"```{match['first']}\n{body}\n```\n\n", indent)
    formula = " ".join([match["first"], *body.split()])
    return f"{indent}\n{indent}$$ {formula} $$\n\n"


def _separate(match: re.Match[str]) -> str:
    """Parameters that share a line each get it, for each has a type and a default of its own."""
    text = match["text"].rstrip("\n")
    return "".join(f"{name}\n{text}\n" for name in match["names"].split(", "))


def _name(match: re.Match[str]) -> str:
    return match["target"].rpartition(".")[2] if match["short"] else match["target"]


def _link(match: re.Match[str], obj: griffe.Object) -> str:
    """The name as code; a link if the name is on a page of the reference."""
    try:
        path = match["target"] if match["target"].startswith("steinbox") else obj.resolve(match["target"])
    except griffe.NameResolutionError:
        path = match["target"]
    return f'<autoref identifier="{path}" optional>`{_name(match)}`</autoref>'
