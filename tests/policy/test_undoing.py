"""Whether a receiver that undoes others is called."""

from __future__ import annotations

import pytest

from checkout_integration.policy.undoing import GrantedBy, Ruling, undo

GRANTED = GrantedBy(begun=frozenset({"grant", "mail"}), completed=frozenset({"grant"}))
CONNECTED = frozenset({"grant", "mail"})


@pytest.mark.parametrize(
    ("undoes", "attempted", "expected"),
    [
        ({"grant"}, False, Ruling.RUN),
        ({"grant", "other"}, False, Ruling.RUN),
        ({"mail"}, False, Ruling.SUPERSEDED),
        ({"mail"}, True, Ruling.RUN),
        ({"other"}, True, Ruling.SUPERSEDED),
    ],
)
def test_a_receiver_runs_if_what_it_undoes_completed(
    undoes: set[str], attempted: bool, expected: Ruling
) -> None:
    """Or was attempted, for effects outside the database."""
    assert undo(GRANTED, frozenset(undoes), connected=CONNECTED, attempted=attempted) is expected


def test_without_undoes_a_receiver_runs_if_any_completed() -> None:
    """With one receiver of each signal nothing has to be said."""
    assert undo(GRANTED, frozenset(), connected=CONNECTED) is Ruling.RUN
    assert undo(GrantedBy(begun=frozenset({"grant"})), frozenset(), connected=CONNECTED) is Ruling.SUPERSEDED


def test_goods_of_renamed_receivers_are_for_a_person() -> None:
    """No receiver is known that could revoke them."""
    renamed = GrantedBy(completed=frozenset({"old_name"}))
    assert undo(renamed, frozenset({"grant"}), connected=CONNECTED) is Ruling.RECEIVERS_RENAMED
    beside = GrantedBy(completed=frozenset({"old_name", "mail"}))
    assert undo(beside, frozenset({"grant"}), connected=CONNECTED) is Ruling.RECEIVERS_RENAMED
    assert undo(GrantedBy(), frozenset({"grant"}), connected=CONNECTED) is Ruling.SUPERSEDED
