"""A sandbox in the place of the service, for the length of a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.urls import reverse

from checkout_integration.protocol.vocabulary import SANDBOX_SECRET_PREFIX
from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer, VirtualClock

ADDRESSES = ("BASE_URL", "CHECKOUT_URL", "ORDER_FORM_URL", "LIST_URL", "CLIENT_SCRIPT_URL")


@contextmanager
def running_sandbox(
    settings: Any, shop: str = "", *, profile: str = "field", clock: VirtualClock | None = None
) -> Iterator[Sandbox]:
    """Runs a sandbox with the shop's projects and points the settings at it.

    Args:
        settings: pytest-django's ``settings``, which takes changes back after the test.
        shop: address of the running shop, which gets the notifications; "" sends none.
        profile: ``field`` behaves as deployed services do, ``spec`` to the letter of the specification.
        clock: the service's own time; the present, running, when it is left out.

    """
    written: Mapping[str, Any] = settings.CHECKOUT_INTEGRATION
    projects = {alias: _with_sandbox_secret(alias, own) for alias, own in written["PROJECTS"].items()}
    known = [_known_to_the_service(alias, own, shop) for alias, own in projects.items()]
    with Sandbox(known, profile=profile, clock=clock) as sandbox, SandboxServer(sandbox) as server:
        settings.CHECKOUT_INTEGRATION = {
            **written,
            "PROJECTS": projects,
            **dict.fromkeys(ADDRESSES, server.url),
            "ORDER_FORM_URL": f"{server.url}/form",
            "CLIENT_SCRIPT_URL": f"{server.url}/client.js",
            "ACCEPT_TEST_PAYMENTS": True,
            "ALLOW_HTTP_LOOPBACK": True,
            # Not in the server's thread: it would still be at work when the test looks.
            "RECEIVERS_RUN": "worker",
        }
        yield sandbox


def _with_sandbox_secret(alias: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """The project's own entry; a real secret never reaches the sandbox, and its own addresses give way to the sandbox's."""
    kept = {name: value for name, value in own.items() if name not in ADDRESSES}
    secret = kept["SECRET_KEY"]
    if not (isinstance(secret, str) and secret.startswith(SANDBOX_SECRET_PREFIX)):
        kept["SECRET_KEY"] = f"{SANDBOX_SECRET_PREFIX}secret_of_{alias}"
    return kept


def _known_to_the_service(alias: str, own: Mapping[str, Any], shop: str) -> SandboxProject:
    webhook = reverse("checkout_integration:webhook-project", args=[alias]) if shop else ""
    return SandboxProject(
        project_id=own["PROJECT_ID"], secret_key=own["SECRET_KEY"], webhook_url=f"{shop}{webhook}"
    )
