"""``checkout_export``: where it writes, what it asks for, what it refuses."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from checkout_integration.flows.privacy import exporting
from checkout_integration.models import StaffAct
from checkout_integration.testing.delivery import Deliver
from tests.support.customer import CANARIES, EXTERNAL_ID, order_of_customer
from tests.support.flows.shop import notification

pytestmark = pytest.mark.django_db
WHOM = f"--external-id={EXTERNAL_ID}"
REASON = "--reason=request 4711"


def run(*words: str) -> str:
    """Return what it printed."""
    printed = StringIO()
    call_command("checkout_export", *words, stdout=printed, no_color=True)
    return printed.getvalue()


@pytest.fixture(autouse=True)
def _customer(checkout_deliver: Deliver) -> None:
    """Let a customer have an order."""
    checkout_deliver(notification(order=order_of_customer("order-1")))


def test_it_prints_one_document() -> None:
    """For a pipe."""
    document = json.loads(run(WHOM, REASON))
    assert document["projects"][0]["orders"][0]["document"]["user"]["name"] == CANARIES[2]


def test_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """Nothing is printed, and the act is recorded with the account of who decides."""
    grace = User.objects.create_user("grace")
    file = tmp_path / "export.json"
    assert run(WHOM, REASON, "--as=grace", f"--output={file}") == ""
    assert json.loads(file.read_text())["format"] == "checkout_integration.customer.1"
    assert file.stat().st_mode & 0o777 == 0o600
    act = StaffAct.objects.get()
    assert (act.act, act.origin, act.staff, act.reason) == ("export", "command", grace, "request 4711")


def test_a_file_that_exists_is_not_replaced(tmp_path: Path) -> None:
    """Nothing is exported, so nothing is recorded."""
    file = tmp_path / "export.json"
    file.write_text("precious")
    with pytest.raises(CommandError, match="cannot be written") as caught:
        run(WHOM, REASON, f"--output={file}")
    assert (caught.value.returncode, file.read_text()) == (2, "precious")
    assert not StaffAct.objects.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([WHOM], 2),
        ([WHOM, REASON, "--as=nobody"], 2),
        ([WHOM, REASON, "--project=nowhere"], 2),
        (["--external-id=nobody", REASON], 1),
        (["--customer=999", REASON], 1),
    ],
)
def test_mistakes_have_exit_codes(words: list[str], code: int) -> None:
    """Exit code 1 for an unknown customer, 2 for a mistake; the customer is not printed."""
    with pytest.raises(CommandError) as caught:
        run(*words)
    assert (caught.value.returncode, EXTERNAL_ID in str(caught.value)) == (code, False)


def test_a_part_of_a_document_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next try would be refused for it. The failure is put in place of the reading, which nothing else makes fail."""

    def fails(*rows: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(exporting, "acts_about", fails)
    file = tmp_path / "export.json"
    with pytest.raises(ConnectionError):
        run(WHOM, REASON, f"--output={file}")
    assert not file.exists()
