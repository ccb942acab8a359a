"""A hook of mkdocs: pages that live at the root of the repository, where people look for them, are on the site too."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """What mkdocs calls: a page for each of them."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=with_links_from_docs((ROOT / name).read_text())))
    return files


def on_page_markdown(markdown: str, page: Page, **kwargs: object) -> None:
    """What mkdocs calls: a search finds guides before decisions."""
    if page.file.src_uri.startswith(("decisions/", "changelog")):
        page.meta["search"] = {"boost": 0.3}


def with_links_from_docs(text: str) -> str:
    """Links to pages of the docs, as they are written there."""
    for name, page in PAGES.items():
        text = text.replace(f"({name})", f"({page})")
    return re.sub(r"\]\(docs/", "](", text)
