"""The sandbox: all its parts put together, usable in memory or behind `SandboxServer`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlencode, urlsplit

from checkout_integration.sandbox.approval import Approval
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.creation import Creation
from checkout_integration.sandbox.cursor_list import CursorList
from checkout_integration.sandbox.delivery import DeliveryThreads
from checkout_integration.sandbox.documents import Documents
from checkout_integration.sandbox.faults import FaultSwitchboard
from checkout_integration.sandbox.ledger import Ledger
from checkout_integration.sandbox.listing import Listing
from checkout_integration.sandbox.moments import read_moment, write_moment
from checkout_integration.sandbox.moves import Moves
from checkout_integration.sandbox.outgoing import Outgoing
from checkout_integration.sandbox.own_hosts import OwnHosts
from checkout_integration.sandbox.payments import Payments
from checkout_integration.sandbox.profile import profile_named
from checkout_integration.sandbox.project import Projects, SandboxProject
from checkout_integration.sandbox.project_memory import ProjectMemory
from checkout_integration.sandbox.renewals import Renewals
from checkout_integration.sandbox.run_log import RunLog
from checkout_integration.sandbox.store import Store
from checkout_integration.sandbox.testing_cases import TestingCases
from checkout_integration.sandbox.unreliable_list import UnreliableLedger

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
        """Build a sandbox; with a `state` file, orders, tokens, messages, clock and changed settings survive a restart.

        A changed setting gives way to another value in `projects`. Faults, the run log and results of testing cases are
        not kept.
        """
        self.profile = profile_named(profile)
        self.own_hosts = OwnHosts()
        self.projects = Projects(list(projects))
        self.clock = clock or VirtualClock()
        self.faults = FaultSwitchboard()
        self.log = RunLog()
        self.store = Store(state)
        self._restore_clock()
        ProjectMemory(self.store, self.projects)
        self.documents = Documents(self.profile)
        self.ledger = Ledger(self.store)
        self.outgoing = Outgoing(self.store, self.documents, self.profile)
        self.deliveries = DeliveryThreads(
            store=self.store,
            ledger=self.ledger,
            projects=self.projects,
            outgoing=self.outgoing,
            documents=self.documents,
            clock=self.clock,
            faults=self.faults,
            log=self.log,
            profile=self.profile,
        )
        approval = Approval(self.projects, self.documents, self.clock, self.faults, self.log)
        self._moves = Moves(
            self.store, self.ledger, self.outgoing, self.clock, self.profile, self.deliveries.wake
        )
        self.payments = Payments(self._moves, approval, Renewals(self._moves, self.projects))
        self.testing = TestingCases(self.documents, self.clock, self.log, self.profile)
        self.creation = Creation(self.store, self.ledger, self.projects, self.clock, self.profile)
        listed = UnreliableLedger(self.ledger, self.store, self.faults)
        self.listing = Listing(listed, self.projects, self.documents, self.profile)
        self.cursor_list = CursorList(self.ledger, self.projects, self.documents, self.listing, self.profile)

    @property
    def public_url(self) -> str:
        """The address under which buyers reach the sandbox, without a slash at the end."""
        return self._moves.public_url

    @public_url.setter
    def public_url(self, url: str) -> None:
        self._moves.public_url = url.rstrip("/")
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
        self.faults.set([])  # a list that falls behind holds a store of its own
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def turn_back(self, seconds: float) -> None:
        """Move the clock back; what waits to be sent waits as long as before. Orders keep their times.

        Raises:
            ValueError: it would go beyond what dates can tell.
        """
        distance = max(0.0, seconds)
        # RACE: the clock first, or what waits would be due at the old time for a moment.
        self.clock.turn_back(distance)
        self.outgoing.bring_forward(distance)
        self.deliveries.wake()

    def wait_idle(self, timeout: float = 10.0) -> bool:
        """Wait until no notification is due now or being sent; False when `timeout` passed first."""
        return self.deliveries.wait_idle(timeout)

    def _restore_clock(self) -> None:
        kept = self.store.remembered(_CLOCK)
        if kept is not None:
            running, _, moment = kept.partition(" ")
            self.clock.restore(read_moment(moment), running=running == "running")
        self.clock.subscribe(self._keep_clock)

    def _keep_clock(self) -> None:
        state = "running" if self.clock.running else "standing"
        self.store.remember(_CLOCK, f"{state} {write_moment(self.clock.now())}")
