"""The site of the documentation, which ``python3 -m docs`` builds. docs/README.md says which pages it has, in which order."""

from __future__ import annotations

import json
import posixpath
import re
import sys
from pathlib import Path
from typing import Any, Final

from docutils import nodes

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from checkout_integration import __version__  # noqa: E402

project = "checkout-integration"
author = "The checkout-integration engineers"
copyright = "the checkout-integration engineers, MIT License"  # noqa: A001  # Sphinx's own name
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_llms_txt"]
root_doc = "docs/README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**.md"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = project
html_extra_path = ["site"]
html_static_path = ["static"]
html_js_files = ["accessible.js", "search.js"]
html_copy_source = True  # of which llms.txt and llms-full.txt are made
html_show_sourcelink = False
html_sourcelink_suffix = ""
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
llms_txt_title = project
llms_txt_uri_template = "_sources/{docname}{suffix}"  # beside llms.txt, at whatever address the site is
llms_txt_summary = (
    "A pluggable Django app for a hosted checkout service: verified payments, durable signals, sync, admin, and the service "
    "itself as an offline sandbox."
)

SECTION: Final = re.compile(r"^###? (.+)$", re.MULTILINE)
LINK: Final = re.compile(r"^\| .*?$", re.MULTILINE)
PAGE: Final = re.compile(r"\]\(([\w./-]+\.md)\)")


def add_toctrees(app: Any, docname: str, content: list[str]) -> None:
    """Give the first page a table of contents: the pages that its tables name, section by section."""
    if docname != root_doc:
        return
    _, *parts = SECTION.split(content[0])
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        pages = [page for row in LINK.findall(text) for page in PAGE.findall(row)]
        if pages:
            content[0] += "\n".join(
                ["", "```{toctree}", ":hidden:", f":caption: {heading}", "", *pages, "```", ""]
            )


ROW: Final = re.compile(r"^\| \[.*?\]\(([\w./-]+)\.md(?:#[\w-]+)?\).*? \| (.+) \|$", re.MULTILINE)
LISTING: Final = ("Reference", "Inside")
"""Sections of the first page whose pages answer few questions, although they have every word."""
WORDS_OF_READERS: Final = {
    "docs/receivers": "stop again replay failed",
    "docs/desk-handbook": "paid got nothing",
    "docs/shop-pages": "iframe frame popup window",
    "docs/tunnel": "laptop localhost notifications",
    "docs/several-projects": "add second project",
    "docs/sync": "webhook down outage lost missed",
    "docs/debugging": "replay shell failed again",
    "docs/validation": "refused everybody nobody can pay",
    "docs/sandbox": "try simulate chargeback refund decline",
    "docs/troubleshooting": "webhook answers 401 unclear",
    "docs/public": "versions supported python django",
}
"""What people ask for in words that the page does not use, or that others use more; as much worth as words of its title."""


def add_search_words(app: Any, doctree: Any) -> None:
    """Let the search find a page by its row on the first page, and by `WORDS_OF_READERS`."""
    page = app.env.docname
    rows = ROW.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    texts = [text for name, text in rows if posixpath.normpath(f"docs/{name}") == page]
    words = re.findall(r"[\w-]+", " ".join([*texts, WORDS_OF_READERS.get(page, "")]))
    if words:
        doctree += nodes.meta("", name="keywords", content=",".join(words))


def name_lists(app: Any) -> None:
    """Tell search.js which pages are lists, or about the inside of the app, and what is asked."""
    lists = ["CHANGELOG", "CONTRIBUTING"]
    _, *parts = re.split(
        r"^## (.+)$", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        if heading in LISTING:
            lists += [posixpath.normpath(f"docs/{name}") for name, _ in ROW.findall(text)]
    app.add_js_file(
        None, body=f"const LISTS = {json.dumps(lists)}, WORDS_OF_READERS = {json.dumps(WORDS_OF_READERS)};"
    )


def setup(app: Any) -> None:
    """Connect what the first page and the search need."""
    app.connect("source-read", add_toctrees)
    app.connect("doctree-read", add_search_words)
    app.connect("builder-inited", name_lists)
