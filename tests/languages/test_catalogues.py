"""The catalogues have all texts of the code, each translated, and the compiled files are made of the edited ones."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from tests.languages.catalogues import (
    HOMES,
    Place,
    compiled,
    forms,
    missing,
    places,
    translated,
    translations,
)
from tests.languages.extraction import FUNCTIONS, extracted, sources

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*\}")
ENDS = (".", "?", "!", ":", "%", "…", " ")
ADVICE = "run `python3 -m tests.languages`, and translate what it names"

each_place = pytest.mark.parametrize("place", places(), ids=str)


def keys(catalog: Catalog) -> set[tuple[str | None, str]]:
    """The contexts and texts of a catalogue; of a text with a plural, the singular."""
    return {(message.context, forms(message.id)[0]) for message in translated(catalog)}


def pairs(place: Place) -> Iterator[tuple[str, str]]:
    """Each text in English with each of its translations."""
    for message in translated(place.read()):
        yield from zip(forms(message.id), forms(message.string), strict=True)


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_there_are_german_and_spanish(home: object) -> None:
    """Of the app, and of the example."""
    assert {place.language for place in places() if place.home == home} == {"de", "es"}


@each_place
def test_each_text_of_the_code_is_in_the_catalogue_and_no_other(place: Place) -> None:
    """A text that is new or was reworded is missing; one that is gone is left over."""
    ours, in_code = keys(place.read()), keys(extracted(place.home))
    assert (in_code - ours, ours - in_code) == (set(), set()), ADVICE


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_no_text_is_marked_inside_another_one(home: Path) -> None:
    """In an f-string, Python 3.11 hides it from all that collect texts: it would never be translated."""
    found = [
        f"{path.relative_to(home.parent)}:{part.lineno}"
        for path in sources(home)
        if path.suffix == ".py"
        for text in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(text, ast.JoinedStr)
        for part in ast.walk(text)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in FUNCTIONS
    ]
    assert found == []


@each_place
def test_each_text_has_a_translation_that_is_certain(place: Place) -> None:
    """Nothing is empty, marked as fuzzy, or kept although the code no longer has it."""
    catalog = place.read()
    assert list(missing(catalog)) == [], ADVICE
    assert not catalog.obsolete


@each_place
def test_translations_have_the_placeholders_of_the_text(place: Place) -> None:
    """A missing one hides a value, a misspelt one breaks the page."""
    counted = [
        (text, *(Counter(PLACEHOLDER.findall(each)) for each in (text, other)))
        for text, other in pairs(place)
    ]
    assert [text for text, ours, theirs in counted if ours != theirs] == []


@each_place
def test_translations_end_as_the_text_does(place: Place) -> None:
    """A sentence stays a sentence, a label a label; blanks at both ends are kept."""
    different = [
        (text, translation)
        for text, translation in pairs(place)
        if text.endswith(ENDS) != translation.endswith(ENDS)
        or text.startswith(" ") != translation.startswith(" ")
    ]
    assert different == []


@each_place
def test_the_compiled_file_is_made_of_the_edited_one(place: Place) -> None:
    """Django reads the compiled one, and no machine of a user has to compile."""
    assert translations(place.compiled.read_bytes()) == translations(compiled(place.read())), ADVICE
