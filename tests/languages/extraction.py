"""The texts of a folder that are marked for translation, by Babel alone: gettext's programs are not needed."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from django.utils.translation.template import templatize

NOT_OURS = frozenset({"sandbox", "migrations", "locale"})
"""Folders without texts of ours: the sandbox is the service, which speaks English."""
FUNCTIONS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
"""Functions that mark a text, each with the places of its texts among the arguments."""


def extracted(home: Path) -> Catalog:
    """Return a catalogue of all marked texts of a folder, each with the files that have it."""
    catalog = Catalog()
    for path in sources(home):
        place = path.relative_to(home.parent).as_posix()
        for line, text, comments, context in _texts_of(path):
            catalog.add(text, locations=[(place, line)], auto_comments=comments, context=context)
    return catalog


def sources(home: Path) -> Iterator[Path]:
    """Yield the files of a folder that can have texts of ours."""
    for path in sorted(home.rglob("*")):
        inside = path.relative_to(home).parts
        if path.suffix in {".py", ".html", ".txt"} and not NOT_OURS & set(inside):
            yield path


def _texts_of(path: Path) -> Iterator[tuple[int, str | tuple[str, ...], list[str], str | None]]:
    """Yield line, text, comments and context. Of a template, Django makes Python that Babel reads, as makemessages does."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        source = templatize(source, origin=str(path))
    yield from extract("python", BytesIO(source.encode()), FUNCTIONS, ["Translators:"])
