"""Part of the pages: who may do what, from the table that the tests request cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from django.apps import apps
from django.contrib import admin

from tests.reference.markdown import NO_TEXT, joined, quoted, section, table
from tests.support.admin.rights import PEOPLE, RIGHTS, Right

TITLES: Final = ["what", "permissions", *PEOPLE]
PAGES: Final[Mapping[str, str]] = {
    "changelist": "list",
    "csv": "file (CSV)",
    "change": "page",
    "add": "add",
    "delete": "delete",
    "evidence": "evidence (ZIP)",
    "ask": "ask the service",
    "find": "search by the box on the index of the app",
    "test-data": "delete all test data",
}
REPORTS: Final = ("failures", "installation", "money", "syncdifference")
"""Screens with a page about many rows in the place of a list."""
CASES: Final[Mapping[str, str]] = {"unknown": "one that the settings lack", "of_another": "another account's"}


@section
def rights() -> str:
    """Return a table for each screen, and one for the rest."""
    parts = []
    for title, found in groupby(RIGHTS, _title):
        parts += [f"## {title}", table(TITLES, _rows(list(found)))]
    return joined(*parts)


def _rows(found: Sequence[Right]) -> Iterator[list[str]]:
    """Yield a row for each thing: to open the confirmation of a button, and to confirm it, is the same right."""
    seen = set()
    for right in found:
        what = _what(right)
        if what not in seen:
            yield [what, _permissions(right), *right.cells.values()]
        seen.add(what)


def _screen(right: Right) -> str:
    return right.name.rpartition("_")[0] if right.name != "app_list" else ""


def _title(right: Right) -> str:
    if screen := _screen(right):
        name = str(apps.get_model("checkout_integration", screen)._meta.verbose_name_plural)
        return name[0].upper() + name[1:]
    return "The index of the admin" if right.name in ("index", "app_list") else "Addresses and REST"


def _what(right: Right) -> str:
    screen, page = _screen(right), right.name.rpartition("_")[2]
    if not screen:
        case = f": {CASES[right.case]}" if right.case else ""
        return f"{right.method} {quoted(right.name)}{case}"
    shown = admin.site._registry[apps.get_model("checkout_integration", screen)]
    labels = {button.name: str(button.label) for button in getattr(shown, "buttons", ())}
    if right.is_action:
        actions = {button.name: str(button.label) for button in getattr(shown, "list_buttons", ())}
        return f"“{actions[right.case]}”"
    if page in labels:
        return f"“{labels[page]}”"
    return "page" if screen in REPORTS and page == "changelist" else PAGES[page]


def _permissions(right: Right) -> str:
    if right.permissions is None:
        return "nobody has one"
    return ", ".join(map(quoted, right.permissions)) or NO_TEXT
