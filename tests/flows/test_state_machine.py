"""Shop and service agree in the end, after any events and any losses of notifications.

Customers who are erased meanwhile stay erased.

Two profiles on two databases at least: 200 runs of up to 25 steps in every run of the suite, 5,000 in the full one.
"""

from __future__ import annotations

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import run_state_machine_as_test

from checkout_integration.signals import checkout_paid, checkout_reversed
from tests.support.flows.shop import Listening
from tests.support.flows.state_machine import Dealings, grant, take_back
from tests.support.sandbox.receiver import Receiver
from tests.support.scale import times


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("profile", ["field", "spec"])
def test_shop_and_service_agree_in_the_end(profile: str, listen: Listening) -> None:
    """Selling, paying, trying again, taking back; letters late, twice, lost; secrets rotated, customers erased."""
    listen(checkout_paid, grant)
    listen(checkout_reversed, take_back)
    with Receiver() as post_office:

        class Run(Dealings):
            def __init__(self) -> None:
                super().__init__(profile, post_office)

        run_state_machine_as_test(
            Run,
            settings=hypothesis_settings(max_examples=times(20, 1250), stateful_step_count=25, deadline=None),
        )
