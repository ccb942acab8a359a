"""Pictures of the built site and of a report, to look at: ``make docs && python docs/screenshots.py screenshots``.

Each page in a light, a dark and a narrow window, from a server on this machine. It fails if a page asks anything of
another one, if its console has an error, if it is wider than its window, or if the search finds nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import steinbox as sb

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser import Browser  # noqa: E402

PAGES = {
    "home": "",
    "tutorial": "tutorial/",
    "gallery": "gallery/",
    "how-it-works": "how-it-works/",
    "gf-svgd": "gf-svgd/",
    "coming-from": "coming-from/",
    "reference": "reference/samplers/",
    "notebook": "notebooks/first-steps/",
    "benchmarks": "benchmarks/",
}
WINDOWS = {
    "light": {"width": 1280, "height": 1600},
    "dark": {"width": 1280, "height": 1600, "dark": True},
    "narrow": {"width": 390, "height": 844, "scale": 2},
}


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and does not talk about it."""

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address under which a folder is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def write_report(path: Path) -> Path:
    """The report of a run on a banana."""
    target = sb.targets.Banana()
    result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, names=["x", "y"], seed=0)
    return result.report(path)


def check(browser: Browser, here: str, width: int) -> None:
    """A page asks nothing of anywhere else, has no error, and fits."""
    assert browser.errors(here) == [], browser.errors(here)
    found = browser.evaluate("document.documentElement.scrollWidth")
    assert found <= width, f"{found} pixels wide in a window of {width}"


def check_search(browser: Browser, address: str) -> None:
    """A word that is on the pages is found."""
    browser.open(f"{address}?q=surrogate", width=1280, height=900)
    browser.wait_for("document.querySelectorAll('.md-search-result__item').length > 2")


def main(folder: Path) -> None:
    """Take all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    report = write_report(folder / "report.html")
    browser = Browser()
    try:
        with serve(ROOT / "site") as here:
            pages = {name: here + path for name, path in PAGES.items()} | {"report": report}
            for name, page in pages.items():
                for window, size in WINDOWS.items():
                    browser.open(page, **size)
                    check(browser, "file:" if page == report else here, size["width"])
                    browser.screenshot(folder / f"{name}-{window}.png", whole=False)
                print(f"wrote {folder / name}-{{{','.join(WINDOWS)}}}.png")
            check_search(browser, here)
            browser.screenshot(folder / "search.png", whole=False)
    finally:
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))
