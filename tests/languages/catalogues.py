"""Catalogues of translations: a ``.po`` file, which people edit, and the ``.mo`` file made of it, which Django reads."""

from __future__ import annotations

import gettext
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from tests.languages.extraction import extracted

ROOT = Path(__file__).resolve().parents[2]
HOMES = (ROOT / "checkout_integration", ROOT / "example_project")
"""Folders with texts, each with its catalogues in ``locale``: the app, and the example's shop."""
HEADER = """\
# Translation of {home} into {language}.
# `python3 -m tests.languages` adds the texts of the code and makes django.mo of this file; see CONTRIBUTING.md.
#"""
NAMES = {"de": "German", "es": "Spanish"}


@dataclass(frozen=True)
class Place:
    """The place of a catalogue: a folder with texts, and a language."""

    home: Path
    language: str

    def __str__(self) -> str:
        return f"{self.home.name}, {self.language}"

    @property
    def source(self) -> Path:
        """The file that people edit."""
        return self.home / "locale" / self.language / "LC_MESSAGES" / "django.po"

    @property
    def compiled(self) -> Path:
        """The file that Django reads."""
        return self.source.with_suffix(".mo")

    def read(self) -> Catalog:
        """Return the catalogue as it is edited; an empty one where there is none."""
        if not self.source.exists():
            return self._empty()
        with self.source.open("rb") as file:
            return read_po(file, locale=self.language, domain="django")

    def update(self) -> list[str]:
        """Write both files with all texts of the code and no others; return those without a certain translation.

        No translation is guessed from a similar text.
        """
        catalog = self.read()
        catalog.update(extracted(self.home), no_fuzzy_matching=True, update_creation_date=False)
        catalog.obsolete.clear()
        self.source.parent.mkdir(parents=True, exist_ok=True)
        self.source.write_bytes(_source_text(catalog))
        self.compiled.write_bytes(compiled(catalog))
        return list(missing(catalog))

    def _empty(self) -> Catalog:
        language = NAMES.get(self.language, self.language)
        return Catalog(
            locale=self.language,
            domain="django",
            header_comment=HEADER.format(home=self.home.name, language=language),
            project=self.home.name,
            creation_date=datetime(2026, 11, 25, tzinfo=UTC),
            revision_date=datetime(2026, 11, 25, tzinfo=UTC),
            fuzzy=False,
        )


def places() -> list[Place]:
    """Return the place of each catalogue that there is."""
    return [Place(home, path.name) for home in HOMES for path in sorted((home / "locale").iterdir())]


def missing(catalog: Catalog) -> Iterator[str]:
    """Yield each text without a translation, or with one that is not certain."""
    for message in catalog:
        if message.id and (message.fuzzy or not all(forms(message.string))):
            yield forms(message.id)[0]


def forms(text: str | tuple[str, ...] | list[str] | None) -> list[str]:
    """Return the plural forms of a text or of a translation; one for a text without a plural."""
    return list(text) if isinstance(text, tuple | list) else [text or ""]


def translated(catalog: Catalog) -> Iterator[Message]:
    """Yield the messages of a catalogue, without its header."""
    return (message for message in catalog if message.id)


def compiled(catalog: Catalog) -> bytes:
    """Return a catalogue as the content of the file that Django reads."""
    file = BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def translations(content: bytes) -> dict[str | tuple[str, int], str]:
    """Return the translations of a compiled file, as Python reads them; without its header."""
    found = dict(gettext.GNUTranslations(BytesIO(content))._catalog)  # type: ignore[attr-defined]
    found.pop("", None)
    return found


def _source_text(catalog: Catalog) -> bytes:
    """Return a catalogue as the content of a file to edit. Without numbers of lines, which would change all the time."""
    file = BytesIO()
    write_po(file, catalog, width=120, sort_by_file=True, include_lineno=False)
    return file.getvalue()
