"""Pre-approval: user.validate before the payment."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest

from tests.support.sandbox.service import SECRET, Service, running


@pytest.fixture
def strict() -> Iterator[Service]:
    """A sandbox with user.validate before each payment."""
    with running(mode="pre_approval") as service:
        yield service


@pytest.mark.spec("EVT-02", "EVT-07", "EVT-08", "EVT-11", "USR-01", "USR-02", "WHK-06", "WHK-07")
def test_the_customer_alone_is_sent_for_validation(strict: Service) -> None:
    """user.validate carries the user and nothing of the order, signed, as first try, and comes before the payment."""
    strict.paid(account="player-1")
    validate, success = strict.receiver.received
    envelope = validate.document
    assert validate.is_signed_with(SECRET)
    assert envelope["event"] == "user.validate"
    assert (envelope["delivery_try"], envelope["expires_at"]) == (1, "")
    assert uuid.UUID(envelope["id"]).version == 4
    assert envelope["object"] == {
        "id": success.document["object"]["user"]["id"],
        "object": "user",
        "external_id": "player-1",
        "name": "",
        "email": "",
        "email_verified": False,
        "phone": "",
        "phone_verified": False,
        "ip": "",
        "locale": "",
        "address": None,
        "metadata": None,
        "notify_new_region": False,
        "notify_new_region_email": "",
    }


@pytest.mark.spec(
    "EVT-02", "EVT-07", "USR-01", "USR-03", "USR-04", "USR-05", "USR-06", "USR-07", "USR-08", "USR-09"
)
@pytest.mark.spec("USR-10", "USR-11", "USR-12", "WHK-04", "WHK-05", "ORD-24", "ORD-48")
@pytest.mark.parametrize("profile", ["spec", "field"])
@pytest.mark.parametrize("live", [False, True])
def test_user_validate_has_what_is_known_of_the_customer(profile: str, live: bool) -> None:
    """Whole, a minute after the order was made; the customer is the one of the payment."""
    name = "Ada" if live else "Ben"
    known = {
        "external_id": f"{name}/7", "name": name, "email": f"{name}@mail.example", "email_verified": live,
        "phone": "+4930" if live else "12025550103", "phone_verified": not live,
        "ip": "192.0.2.7" if live else "2001:db8::1", "locale": "de-DE" if live else "en-US",
        "address": {"country": "DE" if live else "FR", "city": name, "postal_code": "1", "state": "BE" if live else "IDF"},
    }  # fmt: skip
    token = {
        "id": known["external_id"], "address": known["address"], "metadata": {"Guild": name},
        **{key: {"value": known[key]} for key in ("name", "ip", "locale")},
        **{key: {"value": known[key], "verified": known[f"{key}_verified"]} for key in ("email", "phone")},
    }  # fmt: skip
    with running(profile=profile, mode="pre_approval", live=live) as service:
        made = service.token({"type": "simple", "amount": 1, "currency": "USD"}, token).json()["token"]
        order_id = service.post("/api/v1/order", {"token": made}).json()["id"]
        service.advance(60)
        service.act(order_id, "pay")
        validate, success = (each.document for each in service.receiver.received)
        (listed,) = service.listed(("id", order_id)).json()["items"]
    for user in (success["object"]["user"], listed["user"]):
        assert {**known, "metadata": {"Guild": name}}.items() <= user.items()
    assert "id" not in listed["user"]
    assert {**known, "metadata": {"Guild": name}}.items() <= validate["object"].items()
    assert validate["object"]["id"] == success["object"]["user"]["id"] != ""
    assert (validate["live"], success["live"]) == (live, live)
    assert validate["created_at"] == "2026-03-04T12:01:00Z"


@pytest.mark.spec("USR-13", "USR-14", "ORD-43", "ORD-19", "ORD-20")
def test_nobody_has_agreed_to_anything_yet(literal: Service) -> None:
    """An unpaid order, and the object of a testing case, have no consent in them."""
    literal.order_id(account="ada")
    assert literal.post("/_sandbox/testing/correct_payment", {}).status_code == 200
    (listed,) = literal.listed().json()["items"]
    for order in (listed, literal.receiver.received[0].document["object"]):
        assert (order["user"]["notify_new_region"], order["user"]["notify_new_region_email"]) == (False, "")
        assert (order["notify_sale"], order["notify_sale_email"]) == (False, "")


@pytest.mark.spec("WHK-02", "WHK-08", "EVT-08")
@pytest.mark.parametrize("profile", ["spec", "field"])
def test_each_notification_is_one_and_has_the_object_of_its_event(profile: str) -> None:
    """Of all five events: an Order for payment.*, the User for user.validate; the type is always the same."""
    with running(profile=profile, mode="pre_approval") as service:
        service.act(service.paid(), "refund")
        service.act(service.paid(account="player-7"), "chargeback")
        service.act(service.order_id(), "cancel")
        found = {(each.document["event"], each.document["type"]) for each in service.receiver.received}
        events = (
            "user.validate",
            "payment.success",
            "payment.refund",
            "payment.chargeback",
            "payment.cancel",
        )
        assert found == {(event, "notification") for event in events}
        for each in service.receiver.received:
            is_user = each.document["event"] == "user.validate"
            assert each.document["object"]["object"] == ("user" if is_user else "order")
            assert ("external_id" in each.document["object"]) is is_user
            assert ("amount" in each.document["object"]) is not is_user


@pytest.mark.spec("EVT-02", "EVT-11")
@pytest.mark.parametrize("status", [201, 204, 403, 500])
def test_only_200_approves(strict: Service, status: int) -> None:
    """Any other response refuses: no charge, no notification, and the order stays created and can be tried again."""
    order_id = strict.order_id()
    strict.receiver.answers = [status]
    assert strict.act(order_id, "pay").json()["outcome"] == "refused"
    assert strict.listed().json()["items"][0]["status"] == "created"
    assert strict.receiver.events == ["user.validate"]
    assert strict.act(order_id, "pay").json()["outcome"] == "paid"


@pytest.fixture
def literal() -> Iterator[Service]:
    """A sandbox with user.validate before each payment, to the letter of the specification."""
    with running(profile="spec", mode="pre_approval") as service:
        yield service


@pytest.mark.spec("EVT-02", "EVT-06", "STA-08", "ORD-07", "ORD-08", "ORD-09")
@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (403, "20", "The seller did not approve this customer"),
        (204, "21", "The seller could not approve this customer"),
        (500, "21", "The seller could not approve this customer"),
    ],
)
def test_a_refusal_cancels_by_the_specification(
    literal: Service, status: int, code: str, reason: str
) -> None:
    """The order is canceled with time and reason, payment.cancel says so, and it cannot be paid any more."""
    order_id = literal.order_id()
    literal.receiver.answers = [status]
    assert literal.act(order_id, "pay").json()["outcome"] == "refused"
    assert literal.receiver.events == ["user.validate", "payment.cancel"]
    order = literal.receiver.received[-1].document["object"]
    assert (order["status"], order["canceled"]) == ("canceled", True)
    assert order["canceled_at"] == "2026-03-04T12:00:00Z"
    assert order["cancellation"] == {"code": code, "reason": reason}
    assert literal.act(order_id, "pay").status_code == 409


@pytest.mark.spec("EVT-02")
def test_an_approved_payment_continues_by_the_specification(literal: Service) -> None:
    """Nothing is cancelled."""
    literal.paid()
    assert literal.receiver.events == ["user.validate", "payment.success"]


@pytest.mark.spec("EVT-02")
def test_the_form_says_that_a_refusal_has_cancelled(literal: Service) -> None:
    """The customer reads why, and no button pays."""
    order_id = literal.order_id()
    literal.receiver.answers = [403]
    page = literal.pay_form(order_id).text
    assert "Payment cancelled" in page and "The seller did not approve this customer." in page
    assert 'action="/form/pay"' not in page


def test_an_order_that_ended_meanwhile_is_not_cancelled_again(literal: Service) -> None:
    """The refusal comes after the customer's own cancellation, and its reason stays."""
    order_id = literal.order_id()

    def cancel_once() -> None:
        literal.receiver.meanwhile = lambda: None
        literal.sandbox.payments.cancel(order_id)

    literal.receiver.answers, literal.receiver.meanwhile = [403], cancel_once
    literal.act(order_id, "pay")
    assert sorted(literal.receiver.events) == ["payment.cancel", "user.validate"]
    order = literal.sandbox.ledger.find(order_id)
    assert order is not None and order.cancellation == {"code": "01", "reason": "Canceled by the customer"}


@pytest.mark.spec("WHK-01", "EVT-07")
def test_each_question_has_an_id_of_its_own(strict: Service) -> None:
    """Asking about the same customer again is a new notification."""
    order_id = strict.order_id()
    strict.receiver.answers = [403]
    strict.act(order_id, "pay")
    strict.act(order_id, "pay")
    first, second, _ = (each.document["id"] for each in strict.receiver.received)
    assert first != second


@pytest.mark.spec("EVT-02")
def test_nobody_there_refuses(strict: Service) -> None:
    """A connection error is a refusal."""
    strict.sandbox.projects.update("project-1", webhook_url="http://127.0.0.1:9/")
    assert strict.act(strict.order_id(), "pay").json()["outcome"] == "refused"


@pytest.mark.spec("EVT-01")
def test_the_default_mode_does_not_ask(service: Service) -> None:
    """Without pre-approval only the payment is notified."""
    service.paid()
    assert service.receiver.events == ["payment.success"]


@pytest.mark.spec("EVT-02", "EVT-11")
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (403, "The seller did not approve this customer."),
        *((status, "The seller could not approve it just now.") for status in (204, 301, 302, 307, 500, 503)),
    ],
)
@pytest.mark.parametrize("card", ["4242424242424242", "4000002760003184"])
def test_the_form_says_that_it_was_refused(strict: Service, status: int, words: str, card: str) -> None:
    """The customer reads that the payment was refused, and can pay again; a redirect is not followed to a friendly page."""
    order_id = strict.order_id()
    strict.receiver.answers, strict.receiver.location = [status], strict.receiver.url
    page = strict.pay_form(order_id, number=card)
    assert words in page.text
    assert "Nothing was charged." in page.text
    assert 'action="/form/pay"' in page.text
    assert strict.receiver.events == ["user.validate"]


def test_the_country_stays_after_a_refusal() -> None:
    """The form comes back with the total that the customer saw."""
    with running(mode="pre_approval", ask_billing_address=True, vat_payer="buyer") as strict:
        strict.receiver.answers = [403]
        page = strict.pay_form(strict.order_id(amount=10), country="DE")
    assert "Pay $11.90 USD" in page.text


@pytest.mark.spec("EVT-02")
def test_the_form_says_that_nobody_answered(strict: Service) -> None:
    """A response that comes too late is none."""
    strict.sandbox.projects.update("project-1", attempt_timeout=0.05)
    order_id = strict.order_id()
    late = threading.Event()

    def answer_late() -> None:
        late.wait(10)

    strict.receiver.meanwhile = answer_late
    page = strict.pay_form(order_id)
    late.set()
    assert "The seller did not answer in time. You can try again. Nothing was charged." in page.text
    assert strict.listed().json()["items"][0]["status"] == "created"


@pytest.mark.spec("EVT-11")
@pytest.mark.parametrize(("body", "promised"), [(b"no", 0), (b'{"ok": false}', 0), (b"cut", 1000)])
def test_the_body_of_a_200_is_not_read(strict: Service, body: bytes, promised: int) -> None:
    """Whatever it says, and even when it ends in the middle, the status alone approves."""
    strict.receiver.body, strict.receiver.promised = body, promised
    assert "Payment successful" in strict.pay_form(strict.order_id()).text


@pytest.mark.spec("EVT-02")
def test_without_an_address_nobody_can_approve(strict: Service) -> None:
    """The run log names the missing address."""
    strict.sandbox.projects.update("project-1", webhook_url="")
    assert "The seller did not answer" in strict.pay_form(strict.order_id()).text
    assert strict.sandbox.log.entries()[-1].note == "user.validate, the project has no webhook URL"


def test_an_old_question_of_the_bank_says_so(strict: Service) -> None:
    """A code that was taken already pays for nothing, and the customer reads why the form is there again."""
    order_id = strict.order_id()
    page = strict.post("/form/code", None, data={"order_id": order_id, "step": "gone", "code": "1234"})
    assert "Your bank&#39;s question is no longer open" in page.text
    assert strict.receiver.received == []


@pytest.mark.spec("EVT-02", "STA-04")
def test_an_order_cancelled_while_the_merchant_thinks_is_not_paid(strict: Service) -> None:
    """The response to user.validate comes too late: the order stays canceled, and no payment is notified."""
    order_id = strict.order_id()

    def cancel_once() -> None:
        strict.receiver.meanwhile = lambda: None
        strict.sandbox.payments.cancel(order_id)

    strict.receiver.meanwhile = cancel_once
    assert strict.act(order_id, "pay").status_code == 409
    assert strict.listed().json()["items"][0]["status"] == "canceled"
    assert sorted(strict.receiver.events) == ["payment.cancel", "user.validate"]
