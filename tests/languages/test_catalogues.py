"""The catalogues have all texts of the code, each translated, and the compiled files are made of the edited ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from babel.messages.catalog import Catalog, Message

from tests.languages import catalogues
from tests.languages.extraction import extracted

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*\}")
ADVICE = "run `python3 -m tests.languages`, and translate what it names"

pytestmark = pytest.mark.parametrize("language", catalogues.languages())


def keys(catalog: Catalog) -> set[tuple[str | None, str]]:
    """The contexts and texts of a catalogue; of a text with a plural, the singular."""
    return {(message.context, forms(message)[0]) for message in catalog if message.id}


def forms(message: Message) -> list[str]:
    """The text in English, and its plural where it has one."""
    return [message.id] if isinstance(message.id, str) else list(message.id)


def translations(message: Message) -> list[str]:
    """The translation, one for each plural form."""
    return [message.string] if isinstance(message.string, str) else list(message.string)


def all_forms(catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Each text in English with each of its translations."""
    for message in catalog:
        if message.id:
            yield from zip(forms(message), translations(message), strict=True)


def test_there_are_these_languages(language: str) -> None:
    """German and Spanish, each with both files."""
    assert {"de", "es"} <= set(catalogues.languages())
    assert catalogues.source_of(language).exists() and catalogues.compiled_of(language).exists()


def test_each_text_of_the_code_is_in_the_catalogue_and_no_other(language: str) -> None:
    """A text that is new or was reworded is missing; one that is gone is left over."""
    ours, in_code = keys(catalogues.read(language)), keys(extracted())
    assert in_code - ours == set(), ADVICE
    assert ours - in_code == set(), ADVICE


def test_each_text_has_a_translation_that_is_certain(language: str) -> None:
    """Nothing is empty, marked as fuzzy, or kept although the code no longer has it."""
    catalog = catalogues.read(language)
    assert list(catalogues.missing(catalog)) == [], ADVICE
    assert not catalog.obsolete


def test_translations_have_the_placeholders_of_the_text(language: str) -> None:
    """A missing one hides a value, a misspelt one breaks the page."""
    different = [
        (text, translation)
        for text, translation in all_forms(catalogues.read(language))
        if Counter(PLACEHOLDER.findall(text)) != Counter(PLACEHOLDER.findall(translation))
    ]
    assert different == []


def test_translations_end_as_the_text_does(language: str) -> None:
    """A sentence stays a sentence, a label a label; blanks at both ends are kept."""
    different = [
        (text, translation)
        for text, translation in all_forms(catalogues.read(language))
        if text.endswith((".", "?", "%", " ")) != translation.endswith((".", "?", "%", " "))
        or text.startswith(" ") != translation.startswith(" ")
    ]
    assert different == []


def test_the_compiled_file_is_made_of_the_edited_one(language: str) -> None:
    """Django reads the compiled one, and no machine of a user has to compile."""
    made = catalogues.compiled(catalogues.read(language))
    stored = catalogues.compiled_of(language).read_bytes()
    without_header = {"": ""}
    assert (
        catalogues.translations(stored) | without_header == catalogues.translations(made) | without_header
    ), ADVICE
