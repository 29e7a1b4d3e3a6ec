"""Five receivers of one payment, two of which fail, over the ten days of their attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.flows.outbox.retrying import BACK_OFF
from checkout_integration.models import ReceiverRun
from checkout_integration.signals import checkout_paid
from checkout_integration.signals.durable import USUAL
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.flows.shop import Failing, Listening, own, owned

pytestmark = pytest.mark.django_db


def runs() -> dict[str, tuple[str, int]]:
    """State and attempts of each receiver's run."""
    rows = ReceiverRun.objects.values_list("receiver", "state", "attempts")
    return {receiver: (state, attempts) for receiver, state, attempts in rows}


def test_five_receivers(checkout_deliver: Deliver, listen: Listening) -> None:
    """Three run once, one at its fourth attempt, one is failed after ten and run again; every response is 200."""
    broken, shaky = Failing(), Failing(times=3)
    heard = {
        "broken": listen(checkout_paid, broken, name="broken"),
        "shaky": listen(checkout_paid, shaky, name="shaky"),
        "grant": listen(checkout_paid, own, name="grant"),
        "letter": listen(checkout_paid, name="letter"),
        "ledger": listen(checkout_paid, name="ledger"),
    }
    answers = []
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        answers.append(checkout_deliver(order=order_document_for(CheckoutFactory())).status_code)
        assert {name: len(calls) for name, calls in heard.items()} == {
            "broken": 0,
            "shaky": 0,
            "grant": 1,
            "letter": 1,
            "ledger": 1,
        }
        for tried, wait in enumerate(BACK_OFF, start=1):
            assert broken.tries == tried
            clock.shift(wait - timedelta(seconds=30))
            flows.run_due()
            assert broken.tries == tried  # not before its time
            clock.shift(timedelta(seconds=31))
            # Another customer's notification: due runs are run after its response.
            answers.append(checkout_deliver(order=OrderDocumentFactory()).status_code)
        clock.shift(timedelta(days=30))
        flows.run_due()
        assert runs() == {
            "broken": ("failed", USUAL.most_attempts),
            "shaky": ("done", 4),
            "grant": ("done", 1),
            "letter": ("done", 1),
            "ledger": ("done", 1),
        }
        broken.times = 0
        assert flows.operations.retry_run(
            ReceiverRun.objects.get(receiver="broken"), staff=User.objects.create_user("staff")
        )
        flows.run_due()
    assert (broken.tries, shaky.tries, owned()) == (11, 4, 1)
    assert {name: len(calls) for name, calls in heard.items()} == dict.fromkeys(heard, 1)
    assert answers == [200] * USUAL.most_attempts
