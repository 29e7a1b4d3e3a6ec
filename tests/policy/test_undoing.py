"""Whether a receiver that undoes others is called."""

from __future__ import annotations

import pytest

from checkout_integration.policy.undoing import GrantedBy, Undo, undo

GRANTED = GrantedBy(begun=frozenset({"grant", "mail"}), completed=frozenset({"grant"}))
CONNECTED = frozenset({"grant", "mail"})


@pytest.mark.parametrize(
    ("undoes", "attempted", "expected"),
    [
        ({"grant"}, False, Undo.RUN),
        ({"grant", "other"}, False, Undo.RUN),
        ({"mail"}, False, Undo.NOTHING),
        ({"mail"}, True, Undo.RUN),
        ({"other"}, True, Undo.NOTHING),
    ],
)
def test_a_receiver_runs_if_what_it_undoes_completed(
    undoes: set[str], attempted: bool, expected: Undo
) -> None:
    """Or was attempted, for effects outside the database."""
    assert undo(GRANTED, frozenset(undoes), connected=CONNECTED, attempted=attempted) is expected


def test_without_undoes_a_receiver_runs_if_any_completed() -> None:
    """With one receiver of each signal nothing has to be said."""
    assert undo(GRANTED, frozenset(), connected=CONNECTED) is Undo.RUN
    assert undo(GrantedBy(begun=frozenset({"grant"})), frozenset(), connected=CONNECTED) is Undo.NOTHING


def test_goods_of_renamed_receivers_are_for_a_person() -> None:
    """No receiver is known that could revoke them."""
    renamed = GrantedBy(completed=frozenset({"old_name"}))
    assert undo(renamed, frozenset({"grant"}), connected=CONNECTED) is Undo.UNKNOWN
    beside = GrantedBy(completed=frozenset({"old_name", "mail"}))
    assert undo(beside, frozenset({"grant"}), connected=CONNECTED) is Undo.UNKNOWN
    assert undo(GrantedBy(), frozenset({"grant"}), connected=CONNECTED) is Undo.NOTHING
