"""The JSON test suite, each file spliced into a signed notification as ``object.metadata.x``: a frozen table of decisions.

Signed, since a refused signature would hide the parser; through the receiver's view into the database.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from checkout_integration.protocol import strict_json
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests.stress.hostile.door import Door, nothing_broke
from tests.support.corpora import corpus

PLACE = "place-of-the-file"
APPLIED, QUARANTINED, NOT_JSON = "applied", "quarantined", "400"

PARSING = {"y_": APPLIED, "n_": NOT_JSON}
"""What must be read is applied, what must not be read is answered 400, but for these:"""
EXCEPTIONS = {
    # JSON beyond our limits: two equal keys. A number beyond any amount of money costs its field only.
    QUARANTINED: """
        y_object_duplicated_key y_object_duplicated_key_and_value
        n_structure_100000_opening_arrays n_structure_open_array_object
        n_structure_object_followed_by_closing_object y_object_escaped_null_in_key
    """,
    # NUL as it is: a text that is not all characters, as broken UTF-8 is one.
    APPLIED: "n_string_unescaped_ctrl_char",
}
"""Of the n_ files two are too deep before they are wrong, and one closes our object early and so gives it equal keys."""

FREE = {
    APPLIED: """
        i_number_too_big_neg_int i_number_too_big_pos_int
        i_string_1st_surrogate_but_2nd_missing i_string_1st_valid_surrogate_2nd_invalid
        i_string_incomplete_surrogate_and_escape_valid i_string_incomplete_surrogate_pair
        i_string_incomplete_surrogates_escape_valid i_string_invalid_lonely_surrogate
        i_string_invalid_surrogate i_string_inverted_surrogates_U+1D11E i_string_lone_second_surrogate
        number_-9223372036854775808 number_-9223372036854775809 number_1.0 number_1.000000000000000005
        number_1000000000000000 number_10000000000000000999 number_1e6 number_9223372036854775807
        number_9223372036854775808 object_key_nfc_nfd object_key_nfd_nfc
        string_1_escaped_invalid_codepoint string_2_escaped_invalid_codepoints
        string_3_escaped_invalid_codepoints string_with_escaped_NULL
        i_number_double_huge_neg_exp i_number_huge_exp i_number_neg_int_huge_exp
        i_number_pos_double_huge_exp i_number_real_neg_overflow i_number_real_pos_overflow
        i_number_real_underflow i_number_very_big_negative_int number_1e-999
        i_string_UTF-8_invalid_sequence i_string_UTF8_surrogate_U+D800
        i_string_invalid_utf-8 i_string_iso_latin_1 i_string_lone_utf8_continuation_byte
        i_string_not_in_unicode_range i_string_overlong_sequence_2_bytes i_string_overlong_sequence_6_bytes
        i_string_overlong_sequence_6_bytes_null i_string_truncated-utf-8
        string_1_invalid_codepoint string_2_invalid_codepoints string_3_invalid_codepoints
    """,
    QUARANTINED: """
        i_structure_500_nested_arrays object_same_key_different_values object_same_key_same_value
        object_same_key_unclear_values i_object_key_lone_2nd_surrogate
    """,
    NOT_JSON: """
        i_string_UTF-16LE_with_BOM i_string_utf16BE_no_BOM i_string_utf16LE_no_BOM
        i_structure_UTF-8_BOM_empty_object
    """,
}
"""The files on which parsers may differ, and those of the transformations: one by one."""


def decision(name: str) -> str:
    """What the table says of a file."""
    for table in (EXCEPTIONS, FREE):
        for outcome, names in table.items():
            if name in names.split():
                return outcome
    return PARSING[name[:2]]


def wrapped(content: bytes) -> bytes:
    """A notification with these bytes as the value of ``object.metadata.x``."""
    document = NotificationDocumentFactory(object__metadata={"x": PLACE})
    return strict_json.dumps(document).encode().replace(f'"{PLACE}"'.encode(), content)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("folder", "number"), [("test_parsing", 318), ("test_transform", 22)])
def test_each_file_is_decided_as_the_table_says(folder: str, number: int) -> None:
    """Applied, stored with an incident, or refused, as in the table; the stored bytes are those sent, and never a 5xx."""
    door = Door()
    files: list[Path] = sorted(corpus(f"json-test-suite/{folder}").glob("*.json"))
    assert len(files) == number
    decided = {path.stem: door.outcome(wrapped(path.read_bytes())) for path in files}
    assert {name: outcome for name, outcome in decided.items() if outcome != decision(name)} == {}
    nothing_broke()
