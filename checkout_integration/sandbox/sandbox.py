"""The sandbox: all parts put together, usable in memory or behind `SandboxServer`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self
from urllib.parse import urlencode, urlsplit

from checkout_integration.sandbox.api.creation_requests import CreationRequests
from checkout_integration.sandbox.api.cursor_list import CursorList
from checkout_integration.sandbox.api.transactions_list import TransactionsList
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.faults.list_faults import FaultyLedger
from checkout_integration.sandbox.faults.switchboard import FaultSwitchboard
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.notify.delivery_with_retries import DeliveryThreads
from checkout_integration.sandbox.notify.outbox import Outbox
from checkout_integration.sandbox.notify.sender import Sender
from checkout_integration.sandbox.notify.testing_cases import TestingCases
from checkout_integration.sandbox.notify.user_validation import UserValidation
from checkout_integration.sandbox.orders.documents import Documents
from checkout_integration.sandbox.payments.payments import Payments
from checkout_integration.sandbox.profile import find_profile
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.store.ledger import Ledger
from checkout_integration.sandbox.store.project_changes import keep_changes
from checkout_integration.sandbox.wire.addresses import OwnHosts
from checkout_integration.sandbox.wire.moments import read_moment, write_moment
from checkout_integration.sandbox.wire.run_log import RunLog

_CLOCK = "clock"


class Sandbox:
    """A stand-in for the service.

    Attributes:
        projects: the merchant's projects; `projects.update(...)` changes settings.
        payments: what happens to orders: `pay`, `decline`, `cancel`, `refund`, `chargeback`, `renew`, `expire`,
            `resend`.
        ledger: the orders themselves.
        clock: virtual time; `clock.advance(seconds)`, and `turn_back(seconds)` of the sandbox itself.
        faults: the fault switchboard.
        testing: the four testing cases.
        log: every exchange.
        own_hosts: the host names that it answers to over HTTP; `own_hosts.add("pay.test")` adds one.
    """

    def __init__(
        self,
        projects: Iterable[SandboxProject] = (),
        *,
        state: str | Path | None = None,
        profile: str = "field",
        clock: VirtualClock | None = None,
    ) -> None:
        """Build a sandbox; with a `state` file, orders, tokens, notifications, clock and changed settings survive a restart.

        Another value in `projects` replaces a changed setting. Faults, the run log and results of testing cases are
        not stored.
        """
        self.profile = find_profile(profile)
        self.own_hosts = OwnHosts()
        self.projects = Projects(list(projects))
        self.clock = clock or VirtualClock()
        self.faults = FaultSwitchboard()
        self.log = RunLog()
        self.store = Store(state)
        self._restore_clock()
        keep_changes(self.store, self.projects)
        self.documents = Documents(self.profile)
        self.ledger = Ledger(self.store)
        self.outbox = Outbox(self.store, self.documents, self.profile)
        sender = Sender(self.clock, self.log)
        self.deliveries = DeliveryThreads(
            store=self.store,
            ledger=self.ledger,
            projects=self.projects,
            outbox=self.outbox,
            documents=self.documents,
            clock=self.clock,
            faults=self.faults,
            sender=sender,
            profile=self.profile,
        )
        approval = UserValidation(self.projects, self.documents, self.clock, self.faults, sender)
        self.payments = Payments(
            store=self.store,
            ledger=self.ledger,
            outbox=self.outbox,
            projects=self.projects,
            clock=self.clock,
            profile=self.profile,
            wake=self.deliveries.wake,
            approval=approval,
        )
        self.testing = TestingCases(self.documents, self.clock, sender, self.profile)
        self.creation = CreationRequests(self.store, self.ledger, self.projects, self.clock, self.profile)
        listed = FaultyLedger(self.ledger, self.store, self.faults)
        self.transactions_list = TransactionsList(listed, self.projects, self.documents, self.profile)
        self.cursor_list = CursorList(
            self.ledger, self.projects, self.documents, self.transactions_list, self.profile
        )

    @property
    def public_url(self) -> str:
        """The address under which customers reach the sandbox, without a slash at the end."""
        return self.payments.public_url

    @public_url.setter
    def public_url(self, url: str) -> None:
        self.payments.public_url = url.rstrip("/")
        self.own_hosts.add(urlsplit(url).hostname or "localhost")

    def form_url(self, order_id: str) -> str:
        """Return {order_form_url}/?order_id=<order_id> (EP6-03)."""
        return f"{self.public_url}/form/?{urlencode({'order_id': order_id})}"

    def token_form_url(self, token: str) -> str:
        """Return the form that makes its order from a token (EP6-04)."""
        return f"{self.public_url}/form/?{urlencode({'token': token})}"

    def start(self) -> None:
        """Start the threads that deliver notifications."""
        self.deliveries.start()

    def stop(self) -> None:
        """Stop the threads; the state stays readable."""
        self.deliveries.stop()

    def close(self) -> None:
        """Stop the threads and close the store."""
        self.stop()
        self.faults.set([])  # closes the copy of a list that falls behind
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def turn_back(self, seconds: float) -> None:
        """Move the clock back; queued notifications wait as long as before. Orders do not change.

        Raises:
            ValueError: the new time is out of range.
        """
        distance = max(0.0, seconds)
        # RACE: the clock first, or queued notifications would be due at the old time for a moment.
        self.clock.turn_back(distance)
        self.outbox.bring_forward(distance)
        self.deliveries.wake()

    def wait_idle(self, timeout: float = 10.0) -> bool:
        """Wait until no notification is due now or being sent; False when `timeout` passed first."""
        return self.deliveries.wait_idle(timeout)

    def _restore_clock(self) -> None:
        stored = self.store.remembered(_CLOCK)
        if stored is not None:
            running, _, moment = stored.partition(" ")
            self.clock.restore(read_moment(moment), running=running == "running")
        self.clock.subscribe(self._save_clock)

    def _save_clock(self) -> None:
        state = "running" if self.clock.running else "standing"
        self.store.remember(_CLOCK, f"{state} {write_moment(self.clock.now())}")
