"""Splitting the array of an object: the same elements and the same refusals as by the reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.protocol.array_split import UNREAD, member_text, split_array, text_bytes
from checkout_integration.protocol.strict_json import MAX_VALUES, JsonRefused, NotJson

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


UNREADABLE = [
    b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    b'{"a":[' + b"0," * MAX_VALUES + b"0]}",
    b'{"a":nul}',
    b'{"a" 1}',
    b"{\xff}",
    b'{"a":"\\x"}',
    b"{,}",
]


@pytest.mark.parametrize("element", UNREADABLE, ids=range(len(UNREADABLE)))
@pytest.mark.parametrize(
    "layout", [b'{"count":3,"items":[%s,%s,%s],"last":[{}]}', b'{ "items" : [ %s , %s\n,%s ] }']
)
def test_an_element_that_cannot_be_read_costs_no_other(element: bytes, layout: bytes) -> None:
    """Each ends where its brackets do; brackets, commas and quotes in a text are none."""
    one, other = b'{"x":[{"y":"]},\\"{["}]}', b'{"items":[1]}'
    _, elements = split_array(layout % (one, element, other), "items", most_values=1000)
    assert [text_bytes(each.text) for each in elements] == [one, element, other]
    assert [each.value for each in elements] == [json.loads(one), UNREAD, {"items": ["1"]}]


@pytest.mark.parametrize(
    "items", [b"nul", b"{},nul", b"{},", b"{}{}", b"{nul}{nul}", b"{]}", b"{nul},,{}", b'{nul},"']
)
def test_only_an_object_is_delimited(items: bytes) -> None:
    """Of anything else nobody can say where it ends."""
    with pytest.raises(NotJson):
        split_array(b'{"items":[%s]}' % items, "items", most_values=1000)


def test_objects_that_are_too_much_together_are_refused() -> None:
    """Though each of them could be read."""
    items = b",".join([b"[0,0]"] * 10)
    assert len(split_array(b'{"items":[%s]}' % items, "items", most_values=30)[1]) == 10
    with pytest.raises(JsonRefused, match="more than 29 values"):
        split_array(b'{"items":[%s]}' % items, "items", most_values=29)
    with pytest.raises(JsonRefused, match="more than 30 values"):
        split_array(b'{"items":[%s,{nul}]}' % items, "items", most_values=30)


@given(st.binary(max_size=60))
def test_bytes_of_an_element_are_those_sent(content: bytes) -> None:
    """Whatever they are, as long as they end no text."""
    element = b'{"a":"%s"}' % content.replace(b'"', b"").replace(b"\\", b"")
    _, elements = split_array(b'{"items":[%s]}' % element, "items", most_values=1000)
    assert [text_bytes(each.text) for each in elements] == [element]


@pytest.mark.parametrize(
    ("content", "value"),
    [(b"\xff", "\ufffd"), (b"\x00", "\ufffd"), (rb"\u0000", "\ufffd"), ("é".encode(), "é"), (b"", "")],
)
def test_texts_can_be_stored(content: bytes, value: str) -> None:
    """What databases refuse is replaced."""
    _, [element] = split_array(b'{"items":[{"x":"%s"}]}' % content, "items", most_values=10)
    assert element.value == {"x": value}


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ('{"a":{"id":"inner"},"id":"outer"}', '"outer"'),
        ('{"a":"id","b":"x","id" : "o\\"ut"', '"o\\"ut"'),
        ('{"id":5,"ids":"x"}', ""),
        ("{}", ""),
        ('{"x":nul,"id":"a"}', '"a"'),
    ],
)
def test_member_of_an_element_is_found(element: str, text: str) -> None:
    """By its brackets alone, whatever else is wrong."""
    assert member_text(element, "id") == text
