"""What pages of the built site load from elsewhere: ``python docs/loads.py site`` prints it, and fails if there is any.

A link that a reader may follow is fine; what a browser fetches by itself is not.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
HARMLESS_LINKS = {"canonical", "next", "prev", "alternate", "license", "author"}


class Loads(HTMLParser):
    """Collects what a page's tags make a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        names = {"src", "srcset", "poster", "data"}
        if tag == "link" and not HARMLESS_LINKS & set(values.get("rel", "").split()):
            names.add("href")
        found = [values[name] for name in names & set(values)]
        self.addresses += [address for address in found if ELSEWHERE.match(address.strip())]
        self.addresses += IN_STYLES.findall(values.get("style", ""))


def loads(path: Path) -> list[str]:
    """The addresses that one page or style sheet loads."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return IN_STYLES.findall(text)
    parser = Loads()
    parser.feed(text)
    return parser.addresses + [
        address for style in re.findall(r"<style.*?</style>", text, re.DOTALL) for address in IN_STYLES.findall(style)
    ]


def main(folder: str) -> int:
    """Print what every page loads; 1 if there is any, or no page at all."""
    pages = [path for path in sorted(Path(folder).rglob("*")) if path.suffix in (".html", ".css", ".svg")]
    found = [f"{path}: {address}" for path in pages for address in loads(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
