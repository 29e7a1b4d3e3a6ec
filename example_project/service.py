"""The service, played by the sandbox in a process of its own, with the shop's products in its catalogue."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from pathlib import Path

from checkout_integration.protocol.vocabulary import OrderType, WebhookMode
from checkout_integration.sandbox import Product, Sandbox, SandboxProject, SandboxServer
from example_project import earlier_payments
from example_project.catalogue import GOODS
from example_project.earlier_sales import present, sales


def main() -> None:
    """Serve until a signal ends it."""
    parser = argparse.ArgumentParser(prog="python -m example_project.service", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--webhook-url", required=True, help="where the shop takes notifications")
    parser.add_argument("--state", required=True, help="SQLite file of the orders")
    parser.add_argument("--earlier-sales", action="store_true", help="make the orders of earlier sales first")
    parser.add_argument("--profile", default="field", help="how the service behaves: field or spec")
    options = parser.parse_args()
    project = SandboxProject(
        project_id="brightwick",
        secret_key=os.environ.get("CHECKOUT_SECRET_KEY", "sandbox_brightwick_secret"),
        webhook_url=options.webhook_url,
        mode=WebhookMode.PRE_APPROVAL,  # so that the shop validates every customer
        title="Brightwick Games",
        catalogue=tuple(
            Product(id=good.slug, name=good.name, price=good.price, kind=OrderType(good.kind))
            for good in GOODS
            if good.kind != OrderType.SIMPLE
        ),
    )
    # Another host name than the shop's, as it would be in the world: neither sees the other's cookies.
    public = f"http://localhost:{options.port}"
    if options.earlier_sales:
        until = present()
        earlier_payments.write(project, Path(options.state), options.profile, sales(until), until, public)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with (
        Sandbox([project], state=options.state, profile=options.profile) as sandbox,
        SandboxServer(sandbox, "127.0.0.1", options.port, public_url=public),
    ):
        ended.wait()


if __name__ == "__main__":
    main()
