"""Retries of transactions: more of them after a deadlock than after an error of the data."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from checkout_integration.flows.database.transactions import (
    MOST_DEADLOCKS,
    MOST_TRIES,
    Unavailable,
    with_retries,
)

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb, pytest.mark.django_db(transaction=True)]
SAID = {
    "postgresql": "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{}'; END $$",
    "mysql": "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {}",
}
DEADLOCK = {"postgresql": "40P01", "mysql": 1213}
WAITED_TOO_LONG = {"postgresql": "55P03", "mysql": 1205}


class Refused:
    """A transaction that the database refuses, with one of these codes each time."""

    def __init__(self, *codes: dict[str, object]) -> None:
        self.codes = list(codes)
        self.tries = 0

    def __call__(self) -> str:
        """One try."""
        self.tries += 1
        with transaction.atomic():
            Group.objects.create(name="written once")
            if self.codes:
                self._fail(self.codes.pop(0)[connection.vendor])
        return "done"

    def _fail(self, code: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(SAID[connection.vendor].format(code))


def test_deadlock_after_deadlock_is_outlived() -> None:
    """Each time another transaction was let pass, so the next try may go through."""
    work = Refused(*[DEADLOCK] * (MOST_DEADLOCKS - 1))
    assert with_retries(work) == "done"
    assert Group.objects.count() == 1


def test_deadlocks_use_up_no_other_tries() -> None:
    """A connection that is lost after them is the first one that is lost."""
    work = Refused(*[DEADLOCK] * MOST_TRIES, *[WAITED_TOO_LONG] * (MOST_TRIES - 1), DEADLOCK)
    assert with_retries(work) == "done"


@pytest.mark.parametrize(("codes", "most"), [(DEADLOCK, MOST_DEADLOCKS), (WAITED_TOO_LONG, MOST_TRIES)])
def test_it_is_given_up_in_the_end(codes: dict[str, object], most: int) -> None:
    """The service gets its response, and delivers the notification again."""
    work = Refused(*[codes] * most)
    with pytest.raises(Unavailable):
        with_retries(work)
    assert (work.tries, Group.objects.count()) == (most, 0)
