"""The pytest plug-in: fixtures that bring the service to a shop's tests.

pytest loads this module at every start, before any settings are configured: it imports neither Django nor anything heavy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from checkout_integration.testing.delivery import Deliver
    from checkout_integration.testing.orderings import Orderings
    from checkout_integration.testing.service import CheckoutSandbox


@pytest.fixture
def checkout_sandbox(request: pytest.FixtureRequest, settings: Any) -> Iterator[CheckoutSandbox]:
    """Run a sandbox on a loopback socket, with ``CHECKOUT_INTEGRATION`` pointed at it.

    Notifications go to pytest-django's ``live_server`` where the test asks for that too, and nowhere otherwise; another
    address is set by ``checkout_sandbox.projects.update(project_id, webhook_url=…)``. ``pay``, ``decline``, ``cancel``,
    ``refund``, ``chargeback`` and ``renew`` return when the shop was notified and the notification is applied; receivers run
    when the test calls ``flows.run_due()``.
    """
    from checkout_integration.testing.service import running_sandbox

    shop = request.getfixturevalue("live_server").url if "live_server" in request.fixturenames else ""
    with running_sandbox(settings, shop) as sandbox:
        yield sandbox


@pytest.fixture
def checkout_deliver(settings: Any) -> Iterator[Deliver]:
    """Return a function that signs a notification like the service, and posts it to the project's webhook.

    Before the call returns, the notification is applied and receivers are run, with any RUNNER. A test may travel in time,
    for instance with time-machine, to the next attempt of a receiver.
    """
    from checkout_integration.testing.delivery import delivering

    with delivering(settings) as deliver:
        yield deliver


@pytest.fixture
def checkout_orderings(checkout_deliver: Deliver) -> Orderings:
    """Return a function that delivers notifications in every order of arrival."""
    from checkout_integration.testing.orderings import Orderings

    return Orderings(checkout_deliver)
