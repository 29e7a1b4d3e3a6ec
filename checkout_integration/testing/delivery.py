"""Delivering notifications as the service does: signed, to the project's webhook, through Django's test client."""

from __future__ import annotations

import gzip as compression
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from checkout_integration.conf import app_settings
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.signature import Encoding, sign
from checkout_integration.protocol.values import Secret
from checkout_integration.protocol.vocabulary import SIGNATURE_SCHEME, Event
from checkout_integration.testing.payloads import NotificationDocumentFactory
from checkout_integration.testing.surroundings import following_host

__all__ = [
    "Deliver",
]


@contextmanager
def delivering(settings: Any) -> Iterator[Deliver]:
    """Let notifications be applied and receivers be run before a delivery returns, with any RUNNER."""
    written = settings.CHECKOUT_INTEGRATION
    settings.CHECKOUT_INTEGRATION = {**written, "RUNNER": "request", "REQUEST_BUDGET": 10}
    with following_host():
        yield Deliver()


class Deliver:
    """Posts notifications: the value of ``checkout_deliver``."""

    def __call__(
        self,
        document: Mapping[str, Any] | bytes | None = None,
        *,
        event: str = Event.PAYMENT_SUCCESS,
        order: Mapping[str, Any] | None = None,
        user: Mapping[str, Any] | None = None,
        delivery_try: int | None = None,
        project: str = "default",
        secret: str | None = None,
        encoding: str = Encoding.HEX,
        gzip: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        """Deliver one notification and return the webhook's response.

        Args:
            document: the whole notification, as a document or as bytes; made from the next three when it is left out.
            event: its event.
            order: the Order that it is about; a paid one is made when it is left out.
            user: the User of user.validate.
            delivery_try: number of the attempt; the document's own when it is left out.
            project: alias of the project whose webhook gets it.
            secret: signs it; the project's current secret when it is left out.
            encoding: how the hash is written: hex or base64.
            gzip: compress the body; the signature is over the JSON inside.
            headers: added to those that are made here, or replacing them (``Authorization`` too).

        """
        if document is None:
            document = _notification(event, order, user)
        body = document if isinstance(document, bytes) else _body(document, delivery_try)
        key = app_settings().project(project).secrets[0] if secret is None else Secret(secret)
        sent = {"Authorization": f"{SIGNATURE_SCHEME} {sign(body, key, Encoding(encoding))}"}
        if gzip:
            body = compression.compress(body)
            sent["Content-Encoding"] = "gzip"
        address = reverse("checkout_integration:webhook-project", args=[project])
        made = {**sent, **(headers or {})}
        return cast(
            "HttpResponse", Client().post(address, body, content_type="application/json", headers=made)
        )


def _notification(
    event: str, order: Mapping[str, Any] | None, user: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    named = user if event == Event.USER_VALIDATE else order
    made: Mapping[str, Any] = NotificationDocumentFactory(
        event=event, **({} if named is None else {"object": named})
    )
    return made


def _body(document: Mapping[str, Any], delivery_try: int | None) -> bytes:
    attempt = {} if delivery_try is None else {"delivery_try": delivery_try}
    return strict_json.dumps({**document, **attempt}).encode()
