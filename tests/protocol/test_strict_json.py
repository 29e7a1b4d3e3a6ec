"""The only JSON reader and writer: what it accepts, what it refuses, and that it has one kind of error."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict, UserList
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.protocol.strict_json import (
    MAX_DEPTH,
    REPLACEMENT,
    DocumentDecoder,
    DocumentEncoder,
    JsonRefused,
    NotJson,
    PartlyRead,
    StrictJsonError,
    dumps,
    loads,
    unread_in,
)
from checkout_integration.protocol.vocabulary import Event
from tests.support.broken_texts import KINDS
from tests.support.corpora import corpus

# Valid JSON that our limits refuse on purpose: equal keys, and numbers beyond any amount of money.
REFUSED_ON_PURPOSE = {
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
    "y_number.json",
    "y_number_double_close_to_zero.json",
    "y_number_real_capital_e.json",
    "y_number_real_exponent.json",
    "y_number_real_fraction_exponent.json",
    "y_object_extreme_numbers.json",
}


@pytest.fixture(scope="module")
def parsing_corpus() -> Path:
    """The parser files of the JSON test suite; without them the run is incomplete, which CI must not be."""
    return corpus("json-test-suite/test_parsing")


def is_read(body: bytes) -> bool:
    """Whether the reader takes it; any error but its own fails the test."""
    try:
        loads(body)
    except StrictJsonError:
        return False
    return True


def test_everything_that_is_not_json_is_refused(parsing_corpus: Path) -> None:
    """All 188 files that a parser must refuse are refused by the one error type."""
    files = sorted(parsing_corpus.glob("n_*"))
    assert len(files) == 188
    assert [path.name for path in files if is_read(path.read_bytes())] == []


def test_json_is_accepted_but_for_equal_keys_and_absurd_numbers(parsing_corpus: Path) -> None:
    """Of the 95 files that are JSON, exactly those beyond our stated limits are refused."""
    files = sorted(parsing_corpus.glob("y_*"))
    assert len(files) == 95
    assert {path.name for path in files if not is_read(path.read_bytes())} == REFUSED_ON_PURPOSE


def test_json_beyond_our_limits_is_not_called_something_else(parsing_corpus: Path) -> None:
    """Valid JSON that is refused raises JsonRefused: such a body is stored and acknowledged."""
    for name in sorted(REFUSED_ON_PURPOSE):
        with pytest.raises(JsonRefused):
            loads((parsing_corpus / name).read_bytes())


def test_the_free_files_never_cause_another_error(parsing_corpus: Path) -> None:
    """The 35 files on which parsers may differ are read or refused, nothing else."""
    files = sorted(parsing_corpus.glob("i_*"))
    assert len(files) == 35
    assert all(is_read(path.read_bytes()) in {True, False} for path in files)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """For any bytes the reader returns or raises its own error."""
    is_read(body)


@given(st.text(alphabet='[]{}",:\\u0dDeE+-.19ntf \x00é', max_size=200))
def test_any_json_like_text_is_read_or_refused(text: str) -> None:
    """The same for text made of what JSON is made of, which reaches further into the parser."""
    is_read(text.encode())


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text()
    | st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON_VALUES)
def test_what_is_written_is_read_back_exactly(value: Any) -> None:
    """Writing and reading preserves every value, except text that databases refuse."""
    text = dumps(value)
    assert DocumentDecoder().decode(text) == value
    if not any(0xD800 <= ord(character) <= 0xDFFF for character in text) and "\\u0000" not in text:
        assert loads(text.encode()) == value


WRITTEN_BY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([*Event, HTTPStatus.OK]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.sampled_from(Event), inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=4).map(OrderedDict)
    ),
    max_leaves=20,
)


@given(WRITTEN_BY_JSON)
def test_text_is_that_of_the_standard_library(value: Any) -> None:
    """Byte for byte, where it writes exactly; of subclasses too, which are written as what they are kinds of."""
    assert dumps(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_other_objects_and_sequences_are_written_as_such() -> None:
    """Whatever has the methods of one, as mappings that cannot be changed."""
    assert dumps(MappingProxyType({"a": UserList([1, range(2)])})) == '{"a":[1,[0,1]]}'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        b'{"a":"\x00"}',
        '{"a":1}'.encode("utf-16"),
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b"NaN",
        b"[Infinity]",
        b"[-Infinity]",
        b'{"a":1} x',
        b'{"a":1,}',
        b"{'a':1}",
        b'{"a":"\x01"}',
        b"[01]",
        b"[1.]",
        "[１]".encode(),
    ],
)
def test_what_is_not_json_says_so(body: bytes) -> None:
    """Empty bodies, other encodings, constants and lenient dialects are not JSON."""
    with pytest.raises(NotJson):
        loads(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":1}',
        b'[{"b":{"a":1,"a":2}}]',
        b'{"a\\u0000":1,"a\\ufffd":2}',
        b"1" * 41,
        b"0." + b"1" * 39,
        b"1e21",
        b"1e-21",
        b"1e2000000",
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"\\"\\\\":[[' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"]]}",
    ],
)
def test_json_beyond_the_limits_is_refused(body: bytes) -> None:
    """Equal keys, deep nesting and huge numbers are refused before they cost anything."""
    with pytest.raises(JsonRefused):
        loads(body)


@pytest.mark.parametrize("body", [b"[[[]]]", b"[1,2,3]", b'{"a":{"b":[]}}', b'{"a":[1,2]}'])
def test_commas_and_brackets_are_counted(body: bytes) -> None:
    """Each of them may stand for a value that takes memory."""
    assert loads(body, most_values=3) == json.loads(body)
    with pytest.raises(JsonRefused, match="more than 2 values"):
        loads(body, most_values=2)


@pytest.mark.parametrize(
    ("text", "value", "paths"),
    [
        ('{"a":1.1e-21,"b":1}', {"a": None, "b": 1}, ("a",)),
        ('{"a":{"b":[1,1e400,{"c":-1e21}]}}', {"a": {"b": [1, None, {"c": None}]}}, ("a.b.1", "a.b.2.c")),
        ('{"a":%s}' % ("9" * 41), {"a": None}, ("a",)),
        ('{"a":[[1e2000000]],"b":"1e2000000"}', {"a": [[None]], "b": "1e2000000"}, ("a.0.0",)),
        ('{"\\ud800":1e400}', {"\ufffd": None}, ("\ufffd",)),
        ('{"a":1e20}', {"a": Decimal("1e20")}, ()),
    ],
)
def test_a_number_beyond_the_limits_costs_its_field_only(
    text: str, value: Any, paths: tuple[str, ...]
) -> None:
    """Where the caller wants that: null in its place, and the path of each."""
    read = loads(text.encode(), tolerant=True)
    assert read == value
    assert unread_in(read) == paths
    assert json.loads(dumps(read), parse_float=Decimal) == value


@pytest.mark.parametrize(
    "body", [b"1e400", b"[1e400]", b'{"a":1e400,"a":1}', b'{"a":1e400', b'{"a":1e400,"b":NaN}']
)
def test_other_faults_stay_faults_beside_such_a_number(body: bytes) -> None:
    """Equal keys, invalid JSON, and a number outside an object, which has no path."""
    with pytest.raises(StrictJsonError):
        loads(body, tolerant=True)


@pytest.mark.parametrize("content", KINDS.values(), ids=KINDS)
def test_what_is_no_character_costs_its_text_only(content: bytes) -> None:
    """Where the caller wants that: U+FFFD in its place, and the path of each text; beside a number beyond the limits too."""
    read = loads(b'{"a":["x",{"b":"x%sy"}],"c":1e400,"d":"%s"}' % (content, content), tolerant=True)
    assert isinstance(read, PartlyRead)
    assert (read.replaced, read.left_out, read.unclear_keys) == (("a.1.b", "d"), ("c",), False)
    assert unread_in(read) == ("c", "a.1.b", "d")
    inner: Any = dict(read)["a"]
    inner = inner[1]
    assert (inner["b"].strip(REPLACEMENT), inner.replaced) == (
        f"x{REPLACEMENT * inner['b'].count(REPLACEMENT)}y",
        ("b",),
    )
    assert unread_in(loads(dumps(read).encode(), tolerant=True)) == ()


@pytest.mark.parametrize("content", KINDS.values(), ids=KINDS)
def test_what_is_no_character_in_a_key_is_noted(content: bytes) -> None:
    """In the object that has it, and in all around that."""
    read = loads(b'{"a":[{"b%s":1}],"c":{}}' % content, tolerant=True)
    assert isinstance(read, PartlyRead) and read.unclear_keys and read.replaced == ()
    with pytest.raises(JsonRefused, match="two equal keys"):
        loads(b'{"b\xff":1,"b\\u0000":2}', tolerant=True)


@pytest.mark.parametrize(
    "body", [b"\xff", b'{"a":\xff}', b'{\x00"a":1}', b'{"a":1}\x00', b'{"a":"\n"}', b'"\xff']
)
def test_broken_bytes_outside_of_texts_are_not_json(body: bytes) -> None:
    """And other control characters are none in a text either."""
    with pytest.raises(NotJson):
        loads(body, tolerant=True)


def test_a_byte_order_mark_is_skipped() -> None:
    """By each reader, once, at the beginning."""
    for tolerant in (True, False):
        assert loads(b'\xef\xbb\xbf{"a":"\xef\xbb\xbf"}', tolerant=tolerant) == {"a": "\ufeff"}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_text_is_the_same_for_a_tolerant_reader(text: str) -> None:
    """A body that is UTF-8 is read as it is."""
    body = dumps({"a": text, text: 1}).encode() if text != "a" else b"{}"
    read = loads(body, tolerant=True)
    assert read == loads(body) and type(read) is dict


@pytest.mark.parametrize(
    "body",
    [
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"[" + b"[]," * 200 + b"[]]",
        b'["' + b"[{" * 200 + b'"]',
        b'["\\"' + b"[" * 200 + b'\\\\"]',
        b'["a","' + b"[" * 200 + b'","b"]',
        b" \r\n\t[1,\r\n2]\r\n",
    ],
)
def test_brackets_in_text_and_many_flat_lists_are_no_depth(body: bytes) -> None:
    """Only real nesting counts as depth, and line ends of any kind may stand between values."""
    assert loads(body) == json.loads(body)


@pytest.mark.parametrize("body", [b"1", b'"text"', b"null", b"true", b"-0"])
def test_a_scalar_alone_is_json(body: bytes) -> None:
    """RFC 8259 allows any value at the top."""
    assert loads(body) == json.loads(body)


def test_money_keeps_its_digits() -> None:
    """Fractions become Decimals from their text, and are written with the same digits."""
    body = b'{"a":59.99,"b":0.10,"c":100,"d":12345678901234567890.123456789}'
    document = loads(body)
    assert document == {
        "a": Decimal("59.99"),
        "b": Decimal("0.10"),
        "c": 100,
        "d": Decimal("12345678901234567890.123456789"),
    }
    assert isinstance(document, dict) and type(document["c"]) is int
    assert dumps(document).encode() == body


def test_text_that_databases_refuse_is_replaced() -> None:
    """NUL and lone surrogates become U+FFFD, in keys too; real pairs stay."""
    assert loads(rb'{"k\u0000":["a\u0000b\ud800c\uDFFF","\ud83d\ude00"]}') == {
        "k\ufffd": ["a\ufffdb\ufffdc\ufffd", "\U0001f600"]
    }


def test_the_error_repeats_nothing_of_the_body() -> None:
    """Neither the text nor the chain of the error contains the body."""
    with pytest.raises(NotJson) as caught:
        loads(b'{"card": "4000000000000002" oops')
    assert "4000" not in str(caught.value) + caught.value.reason
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize(
    "value", [1.5, b"x", bytearray(b"x"), {1: 2}, {None: 2}, object(), {"a": {1}}, {"a": [1.5]}]
)
def test_what_has_no_exact_form_is_not_written(value: object) -> None:
    """Floats, bytes, other keys than text and unknown objects are programming errors."""
    with pytest.raises(TypeError):
        dumps(value)


@pytest.mark.parametrize(
    "value", [Decimal("NaN"), Decimal("Infinity"), Decimal("1e1000"), Decimal("1e-1000")]
)
def test_absurd_decimals_are_not_written(value: Decimal) -> None:
    """A Decimal that would not be a JSON number, or one of a thousand digits, is refused."""
    with pytest.raises(ValueError, match="sensible size"):
        dumps(value)


def test_djangos_json_field_keeps_decimals() -> None:
    """The encoder and decoder classes work the way a JSONField calls them."""
    text = json.dumps({"b": Decimal("9.90"), "a": ["é", None, True, (), {}]}, cls=DocumentEncoder)
    assert text == '{"b":9.90,"a":["é",null,true,[],{}]}'
    assert json.loads(text, cls=DocumentDecoder)["b"] == Decimal("9.90")
    assert "".join(DocumentEncoder().iterencode({"a": 1})) == '{"a":1}'


def test_the_errors_can_cross_processes() -> None:
    """They are plain values, so that a worker may report them."""
    assert pickle.loads(pickle.dumps(NotJson("why"))).reason == "why"
