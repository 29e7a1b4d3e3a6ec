"""Failures of storing and applying what came."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.handlers.wsgi import WSGIRequest
from django.core.validators import validate_ipv46_address
from django.db import IntegrityError, models, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from kombu.exceptions import OperationalError as BrokerAway

from checkout_integration import flows, tasks
from checkout_integration.checks import check_receivers
from checkout_integration.models import Incident, Notification, Order, OutboxMessage
from checkout_integration.signals import checkout_paid, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.webhook.test_receiving import raising
from tests.support import old_ways
from tests.support.flows.shop import Failing, Listening, ShopHooks, notification, own, owned, record_listed
from tests.support.policy.naive_rules import newest_time_wins
from tests.support.policy.observations import known, message
from tests.support.wire import body_of
from tests.test_tasks_broker_away import broker_at
from tests.views.test_webhook_bodies import through_wsgi

pytestmark = pytest.mark.django_db


@csrf_exempt
def old_webhook(request: HttpRequest) -> HttpResponse:
    """Exempt from the token of forms, as the manuals say."""
    return HttpResponse()


urlpatterns = [path("old/", old_webhook), path("checkout/", include("checkout_integration.urls"))]


def granted_of_old() -> int:
    """How many goods the old ways have granted."""
    return Group.objects.filter(name__startswith=old_ways.PAID).count()


def test_django_payments_491_a_stale_instance_overwrites_a_payment(checkout_deliver: Deliver) -> None:
    """The browser's request read the order before the webhook paid it, and then saved the old state."""
    document = OrderDocumentFactory()
    record_listed([{**document, "status": "created"}])
    stale = Order.objects.get()
    checkout_deliver(order=document)
    stale.status = "canceled"
    with pytest.raises(TypeError):
        stale.save()
    assert Order.objects.get().status == "processed"
    models.Model.save(stale)
    assert Order.objects.get().status == "canceled"


def test_djstripe_1239_a_duplicate_races_past_the_check(checkout_deliver: Deliver) -> None:
    """Both looked, and neither saw the other: the second insert is a 500, and a day of retries."""
    with pytest.raises(IntegrityError), transaction.atomic():
        old_ways.store_unless_there("evt_1", lambda: old_ways.store_unless_there("evt_1", lambda: None))
    document = notification()
    assert [checkout_deliver(document).status_code for _ in range(2)] == [200, 200]
    assert Notification.objects.get().receipts == 2


def test_djstripe_889_the_record_of_a_failure_is_rolled_back_with_it(
    checkout_deliver: Deliver, hooks: type[ShopHooks]
) -> None:
    """A payment that could not be applied leaves no trace."""
    with pytest.raises(ValueError, match="our own rules"):
        old_ways.record_failure_and_raise(RequestFactory().post("/"))
    assert not Group.objects.filter(name="failure").exists()
    hooks.resolve = staticmethod(raising(KeyError("rule")))
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert Notification.objects.get().state == "failed"
    assert Incident.objects.filter(kind="not_applied").exists()


def test_djstripe_833_a_webhook_is_sent_to_the_login_page(settings: Any, checkout_deliver: Deliver) -> None:
    """Middleware that requires a login redirects the service."""
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert Client().post("/old/").status_code == 302
    assert checkout_deliver().status_code == 200


def test_djstripe_2137_an_address_with_a_port_breaks_its_column(checkout_deliver: Deliver) -> None:
    """What a proxy makes of the customer's address is no address."""
    address = "203.0.113.7:443"
    with pytest.raises(ValidationError):
        validate_ipv46_address(address)
    assert checkout_deliver(order=OrderDocumentFactory(user__ip=address)).status_code == 200
    assert Order.objects.get().status == "processed"


def test_cashier_1201_news_of_an_order_that_is_not_there_yet_is_dropped(checkout_deliver: Deliver) -> None:
    """The payment overtakes the response that names the order: it stays unpaid for ever."""
    document = notification(order=OrderDocumentFactory())
    old_ways.handle_if_known(document)
    Group.objects.create(name=document["object"]["id"])
    assert granted_of_old() == 0
    assert checkout_deliver(document).status_code == 200
    record_listed([{**document["object"], "status": "created"}])
    assert Order.objects.get().status == "processed"


def test_woocommerce_3520_return_page_and_webhook_both_fulfil(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """Each sees a paid order, and sends the goods."""
    letters: list[str] = []
    for _ in ("return page", "webhook"):
        old_ways.complete({"status": "processed"}, letters)
    assert len(letters) == 2
    heard = listen(checkout_paid, own)
    checkout = CheckoutFactory()
    document = order_document_for(checkout)
    checkout_deliver(order=document)
    record_listed([document])
    checkout_deliver(order=document)
    flows.run_due()
    assert (len(heard), owned()) == (1, 1)


def test_woocommerce_5288_a_test_payment_pays_a_real_order(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """Test payments are signed with the same key."""
    listen(checkout_paid, own)
    checkout = CheckoutFactory(test=False)
    document = notification(order=order_document_for(checkout, is_production=False), live=False)
    old_ways.handle(document)
    checkout_deliver(document)
    assert (granted_of_old(), owned(), Order.objects.get().verdict_reason) == (1, 0, "mode")


def test_cve_2026_9189_a_cent_pays_for_everything(checkout_deliver: Deliver, listen: Listening) -> None:
    """The message is genuine and names our checkout, but the amount is wrong."""
    listen(checkout_paid, own)
    document = notification(order=order_document_for(CheckoutFactory(), amount=Decimal("0.01")))
    old_ways.handle(document)
    checkout_deliver(document)
    assert (granted_of_old(), owned(), Order.objects.get().verdict_reason) == (1, 0, "amount")


def test_cve_2025_14078_the_callback_is_not_checked_at_all(client: Client, listen: Listening) -> None:
    """Anyone who knows the address can report a payment."""
    listen(checkout_paid, own)
    document = notification(order=order_document_for(CheckoutFactory()))
    old_ways.handle(document)
    answer = client.post("/checkout/webhook/", body_of(document), content_type="application/json")
    assert (granted_of_old(), owned(), answer.status_code) == (1, 0, 401)


def test_posthog_98651_a_tie_within_a_second_ships_the_goods() -> None:
    """Paid and canceled in the same second: the alphabetically larger word wins."""
    messages = [message("payment.success", 0), message("payment.cancel", 0, status="canceled")]
    assert newest_time_wins(messages) == "processed"
    assert {known(*messages).status, known(*reversed(messages)).status} == {"canceled"}


@pytest.mark.slow
def test_celery_4296_a_broker_that_is_away_fails_what_was_committed(
    settings: Any, checkout_deliver: Deliver
) -> None:
    """The payment is stored, and the service is answered 500 all the same."""
    with broker_at("redis://127.0.0.1:9//"):
        with pytest.raises(BrokerAway):
            tasks.run_due.apply_async(retry=False)
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "celery"}
        assert checkout_deliver().status_code == 200


@pytest.mark.django_db(transaction=True)
def test_gunicorn_1264_a_chunked_body_is_read_as_empty() -> None:
    """A genuine notification without a length is then refused as badly signed."""
    body = body_of()
    environ = RequestFactory().generic("POST", "/").environ
    assert WSGIRequest({**environ, "wsgi.input": io.BytesIO(body)}).body == b""
    assert through_wsgi(body) == 200


def test_fob_coinbase_an_event_that_is_not_known_is_refused_for_days(checkout_deliver: Deliver) -> None:
    """The service retries unacknowledged notifications; after two days it gives up on the others, too."""
    document = notification("payment.of_tomorrow")
    assert old_ways.handle(document).status_code == 400
    assert checkout_deliver(document).status_code == 200
    assert Notification.objects.get().event == "payment.of_tomorrow"


def test_django_paypal_62_money_arrives_without_a_receiver(checkout_deliver: Deliver) -> None:
    """No receiver is connected: the signal is lost, and the customer waits."""
    assert old_ways.payment_received.send(sender=None) == []
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert OutboxMessage.objects.filter(signal="checkout_paid", state="no_receivers").exists()
    assert any("checkout_paid" in warning.msg for warning in check_receivers(None))


def test_djstripe_a_receiver_that_raises_takes_the_payment_with_it(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """Money stays unrecorded for as long as a shop's own code is broken."""

    def broken(**arguments: Any) -> None:
        raise KeyError("basket")

    old_ways.payment_received.connect(broken)
    try:
        with pytest.raises(KeyError):
            old_ways.tell_in_the_request(b"{}")
    finally:
        old_ways.payment_received.disconnect(broken)
    assert not Group.objects.filter(name="payment").exists()
    listen(payment_success, Failing())
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert Order.objects.get().status == "processed"
