"""The site's own app: one no-op receiver for each side."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps


class BenchmarksSite(AppConfig):
    """Connects a receiver of ours, and a handler of the peer."""

    name = "benchmarks.site"
    label = "benchmarks_site"

    def ready(self) -> None:
        """Connect both."""
        from checkout_integration.signals import checkout_paid, payment_review

        for signal in (checkout_paid, payment_review):  # the latter is sent by a backlog only
            signal.connect(do_nothing, dispatch_uid="do-nothing")
        if apps.is_installed("djstripe"):
            from djstripe.event_handlers import djstripe_receiver

            djstripe_receiver("charge.succeeded")(do_nothing)


def do_nothing(**arguments: Any) -> None:
    """Grant no goods: what is measured is what comes before."""
