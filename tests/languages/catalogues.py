"""The catalogues of the package: a ``.po`` file, which people edit, and the ``.mo`` file made of it, which Django reads."""

from __future__ import annotations

import gettext
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from tests.languages.extraction import PACKAGE, extracted

FOLDER = PACKAGE / "locale"
HEADER = """\
# {language} translation of checkout-integration.
# `python3 -m tests.languages` adds the texts of the code and makes django.mo of this file; see docs/languages.md.
#"""
NAMES = {"de": "German", "es": "Spanish"}


def languages() -> list[str]:
    """Return the codes of the languages that have a catalogue."""
    return sorted(path.name for path in FOLDER.iterdir())


def source_of(language: str) -> Path:
    """Return the path of the file that people edit."""
    return FOLDER / language / "LC_MESSAGES" / "django.po"


def compiled_of(language: str) -> Path:
    """Return the path of the file that Django reads."""
    return source_of(language).with_suffix(".mo")


def read(language: str) -> Catalog:
    """Return a catalogue as it is edited."""
    with source_of(language).open("rb") as file:
        return read_po(file, locale=language, domain="django")


def updated(language: str) -> Catalog:
    """Return a catalogue with all texts of the code and no others. No translation is guessed from a similar text."""
    catalog = read(language) if source_of(language).exists() else _new(language)
    catalog.update(extracted(), no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()
    return catalog


def missing(catalog: Catalog) -> Iterator[str]:
    """Yield each text without a translation, or with one that is not certain."""
    for message in _messages(catalog):
        translations = message.string if isinstance(message.string, tuple | list) else [message.string]
        if message.fuzzy or not all(translations):
            yield str(message.id if isinstance(message.id, str) else message.id[0])


def source_text(catalog: Catalog) -> bytes:
    """Return a catalogue as the content of a file to edit, the same for the same texts wherever it is made."""
    file = BytesIO()
    write_po(file, catalog, width=120, sort_by_file=True, include_lineno=False)
    return file.getvalue()


def compiled(catalog: Catalog) -> bytes:
    """Return a catalogue as the content of the file that Django reads."""
    file = BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def translations(content: bytes) -> dict[str | tuple[str, int], str]:
    """Return the translations of a compiled file, as Python reads them."""
    return dict(gettext.GNUTranslations(BytesIO(content))._catalog)  # type: ignore[attr-defined]


def update(*named: str) -> dict[str, list[str]]:
    """Write both files of each language, and of those named; return what has no translation, by language."""
    found = {}
    for language in sorted({*languages(), *named}):
        catalog = updated(language)
        source_of(language).parent.mkdir(parents=True, exist_ok=True)
        source_of(language).write_bytes(source_text(catalog))
        compiled_of(language).write_bytes(compiled(catalog))
        found[language] = list(missing(catalog))
    return found


def _messages(catalog: Catalog) -> Iterator[Message]:
    return (message for message in catalog if message.id)


def _new(language: str) -> Catalog:
    return Catalog(
        locale=language,
        domain="django",
        header_comment=HEADER.format(language=NAMES.get(language, language)),
        project="checkout-integration",
        msgid_bugs_address="",
        creation_date=datetime(2026, 11, 25, tzinfo=UTC),
        revision_date=datetime(2026, 11, 25, tzinfo=UTC),
        last_translator="",
        language_team="",
        fuzzy=False,
    )
