"""``python -m benchmarks.ingest``: what taking a notification in costs, beside a bare view and one INSERT.

Runs in the tests' environment (``.environments/tests/bin/python -m benchmarks.ingest``) on the database of
``CHECKOUT_TEST_DATABASE``. Rounds of the candidates alternate, so that a busy machine slows all of them; the medians' ratios
are what is claimed.
"""

from __future__ import annotations

import logging
import os
import statistics
import time
import uuid
from collections.abc import Callable, Sequence

import django

REQUESTS = 200
ROUNDS = 7

Send = Callable[[bytes, str], int]


def main() -> None:
    """Makes a test database, measures, prints one line a candidate."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()

    from django.db import connection
    from django.test.utils import setup_test_environment

    setup_test_environment()
    logging.disable(logging.WARNING)  # an unbound payment says what to set, each time
    name = connection.creation.create_test_db(verbosity=0)
    try:
        report({label: [] for label in candidates()})
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def candidates() -> dict[str, Send]:
    """What is compared: each takes a signed body and returns the status."""
    from django.http import HttpRequest, HttpResponse
    from django.test import RequestFactory
    from django.utils import timezone

    from checkout_integration.conf import app_settings
    from checkout_integration.models import Installation
    from checkout_integration.protocol.signature import verify
    from checkout_integration.views.receiver import webhook

    factory = RequestFactory()

    def through(view: Callable[[HttpRequest], HttpResponse]) -> Send:
        def send(body: bytes, signature: str) -> int:
            headers = {"Authorization": f"Signature {signature}"}
            request = factory.post(
                "/checkout/webhook/", body, content_type="application/json", headers=headers
            )
            return view(request).status_code  # not closed: receivers are another measure

        return send

    def bare(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200 if request.body else 400)

    def verified(request: HttpRequest) -> HttpResponse:
        secrets = app_settings().project().secrets
        matched = verify(request.headers["Authorization"], request.body, secrets)
        return HttpResponse(status=401 if matched is None else 200)

    def inserted(request: HttpRequest) -> HttpResponse:
        answer = verified(request)
        Installation.objects.create(project=uuid.uuid4().hex, installed_at=timezone.now())
        return answer

    return {
        "bare view": through(bare),
        "verify": through(verified),
        "verify + one INSERT": through(inserted),
        "this app": through(webhook),
    }


def report(seconds: dict[str, list[float]]) -> None:
    """Measures in alternating rounds, prints requests per second and the ratio to "verify + one INSERT"."""
    sends = candidates()
    for _ in range(ROUNDS):
        for label, send in sends.items():
            seconds[label].append(timed(send, signed_bodies()))
    median = {label: statistics.median(times) for label, times in seconds.items()}
    for label, each in median.items():
        ratio = median["verify + one INSERT"] / each
        print(f"{label:22} {REQUESTS / each:8.0f} requests/s   {ratio:5.2f} x verify + one INSERT")


def timed(send: Send, bodies: Sequence[tuple[bytes, str]]) -> float:
    """Seconds for all of them; each must be accepted."""
    begun = time.perf_counter()
    statuses = {send(body, signature) for body, signature in bodies}
    taken = time.perf_counter() - begun
    assert statuses == {200}, statuses
    return taken


def signed_bodies() -> list[tuple[bytes, str]]:
    """New notifications of about 3 kB, each of an order of its own."""
    from checkout_integration.conf import app_settings
    from checkout_integration.protocol import strict_json
    from checkout_integration.protocol.signature import sign
    from checkout_integration.testing.payloads import NotificationDocumentFactory

    secret = app_settings().project().secrets[0]
    bodies = [strict_json.dumps(NotificationDocumentFactory()).encode() for _ in range(REQUESTS)]
    return [(body, sign(body, secret)) for body in bodies]


if __name__ == "__main__":
    main()
