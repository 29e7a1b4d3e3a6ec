"""Splitting the array of an object: the same elements and the same refusals as by the reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.protocol.array_split import split_array
from checkout_integration.protocol.strict_json import JsonRefused, NotJson

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
BLANK = {"indent": 2, "separators": (" ,\n", " : ")}


@given(items=st.lists(JSON, max_size=4), around=st.dictionaries(TEXT, JSON, max_size=3))
@pytest.mark.parametrize("layout", [{}, BLANK])
def test_elements_are_those_of_the_document(
    items: list[Any], around: dict[str, Any], layout: dict[str, Any]
) -> None:
    """Whatever stands around the array, and however the text is laid out."""
    document = {**around, "items": items, "last": around}
    envelope, elements = split_array(json.dumps(document, **layout).encode(), "items", most_values=10_000)
    assert envelope == {**around, "items": [], "last": around}
    assert [json.loads(element.text) for element in elements] == items


@pytest.mark.parametrize(
    "body", [b"[]", b'{"items":null}', b'{"items":5}', b'{"rows":[1]}', b"{}", b'"items"']
)
def test_without_an_array_there_are_no_elements(body: bytes) -> None:
    """The document is whole."""
    assert split_array(body, "items", most_values=100) == (json.loads(body), [])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b'{"items":[1',
        b'{"items":[1,]}',
        b'{"items":[1]} x',
        b'{"items":[1]',
        b'{"items":[1],}',
        b'{"items" [1]}',
        b'{"items":[1 2]}',
        b"\xff",
        b'{"items":[' + b"[" * 100_000,
    ],
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    """At every place where the text may break."""
    with pytest.raises((NotJson, JsonRefused)):
        split_array(body, "items", most_values=10**6)


def test_two_arrays_of_one_name_are_refused() -> None:
    """Readers differ in which one they take."""
    with pytest.raises(JsonRefused, match="two equal keys"):
        split_array(b'{"items":[1],"items":[2]}', "items", most_values=100)


def test_the_number_of_values_is_bounded() -> None:
    """Before anything is read."""
    with pytest.raises(JsonRefused, match="more than 5 values"):
        split_array(json.dumps({"items": [0] * 10}).encode(), "items", most_values=5)


def test_a_long_number_is_no_work() -> None:
    """It stays text until its element is read."""
    digits = b"9" * 1_000_000
    _, [element] = split_array(b'{"items":[{"n":' + digits + b"}]}", "items", most_values=100)
    assert len(element.value["n"]) == len(digits)
