"""The threads that send notifications, and send again what is not acknowledged (EVT-09)."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from checkout_integration.protocol.vocabulary import Event, OrderStatus
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.faults.catalogue import LONGEST_WAIT, FaultKind, FaultPoint
from checkout_integration.sandbox.faults.old_shape import in_old_shape
from checkout_integration.sandbox.faults.switchboard import Fault, FaultSwitchboard
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.notify.outbox import Outbox, QueuedNotification
from checkout_integration.sandbox.notify.sender import Sender
from checkout_integration.sandbox.notify.signed_request import MerchantResponse
from checkout_integration.sandbox.orders.documents import Documents
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.store.ledger import Ledger
from checkout_integration.sandbox.wire.json_text import read_json, write_json

_THREADS: Final = 4
_LONGEST_NAP: Final = 60.0
_DELAYING: Final = {FaultKind.REORDER, FaultKind.DELAY}
"""The faults that delay a notification once."""


@dataclass(kw_only=True, eq=False)
class DeliveryThreads:
    """Threads that send what is due, and retry on the project's schedule of virtual time; nothing runs before `start`."""

    store: Store
    ledger: Ledger
    projects: Projects
    outbox: Outbox
    documents: Documents
    clock: VirtualClock
    faults: FaultSwitchboard
    sender: Sender
    profile: Profile

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self._delayed: set[int] = set()
        self.clock.subscribe(self.wake)

    def start(self) -> None:
        """Start the threads, unless they run."""
        if self._threads:
            return
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._run, name=f"sandbox-delivery-{number}", daemon=True)
            for number in range(_THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the threads after the attempt each is in."""
        self._stopping = True
        self.wake()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def wake(self) -> None:
        """Look at the queue again: something was queued, or the clock has moved."""
        with self._changed:
            self._changed.notify_all()

    def wait_idle(self, timeout: float = 10.0) -> bool:
        """Wait until nothing is due or being sent; return False if `timeout` (real seconds) passed before that."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while self.outbox.busy(self.clock.now()):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def _run(self) -> None:
        while not self._stopping:
            notification = self.outbox.claim(self.clock.now())
            if notification is None:
                self._nap()
                continue
            try:
                self._attempt(notification)
            except Exception as error:  # noqa: BLE001 -- a dead thread would leave the message in work for ever
                self.outbox.settle(notification, f"lost: {type(error).__name__}", None)
            finally:
                self.wake()

    def _nap(self) -> None:
        # RACE: a notification queued between claim and wait would sleep, so the queue is read again under the
        # condition's lock, which `wake` takes after each commit.
        with self._changed:
            now = self.clock.now()
            due_at = self.outbox.next_due()
            if self._stopping or (due_at is not None and due_at <= now):
                return
            seconds = _LONGEST_NAP
            if due_at is not None and self.clock.running:
                seconds = min(seconds, (due_at - now).total_seconds())
            self._changed.wait(seconds)

    def _attempt(self, notification: QueuedNotification) -> None:
        order = self.ledger.find(notification.order_id)
        project = self.projects.find(order.project_id) if order else None
        if order is None or project is None:
            self.outbox.settle(notification, "lost", None)
            return
        fault = self._fault_of(notification)
        waiting = hold_back(fault, notification, self.outbox, self.clock.now())
        response = self.sender.send(
            project,
            self._body(order, project, notification, fault.kind if fault else None),
            notification.event,
            f"try {notification.delivery_try}",
            url=order.webhook_url,
            secret_key=order.secret_key,
            fault=fault,
        )
        if waiting:
            return
        # RACE: released while this one still counts as being sent, or `wait_idle` could end between the two.
        self.outbox.release(order.id, self.clock.now())
        self._conclude(order, project, notification, response)

    def _fault_of(self, notification: QueuedNotification) -> Fault | None:
        """Return the fault for this delivery attempt; a delaying fault applies once to each notification."""
        strike = self.faults.draw(FaultPoint.NOTIFICATION, notification.event)
        if strike is None or strike.fault.kind not in _DELAYING:
            return strike.fault if strike else None
        if notification.seq in self._delayed:
            return None
        self._delayed.add(notification.seq)
        return strike.fault

    def _body(
        self, order: Order, project: SandboxProject, notification: QueuedNotification, kind: FaultKind | None
    ) -> bytes:
        # Counted from the time it was due, so that every attempt in time has the same end (EVT-10).
        last = notification.due_at + timedelta(seconds=project.seconds_left(self._retries(notification)))
        message = self.documents.notification(
            id=notification.notification_id,
            event=notification.event,
            live=order.live,
            created_at=self.clock.now() if self.profile.attempt_is_created_at else notification.created_at,
            delivery_try=notification.delivery_try,
            payload=read_json(notification.object),
            expires_at=last if project.tells_expiry else None,
        )
        return write_json(in_old_shape(message) if kind is FaultKind.OLD_SHAPE else message).encode()

    def _retries(self, notification: QueuedNotification) -> int:
        """Return how many attempts there were before this one."""
        return notification.delivery_try - self.profile.first_attempt

    def _conclude(
        self,
        order: Order,
        project: SandboxProject,
        notification: QueuedNotification,
        response: MerchantResponse,
    ) -> None:
        if response.status in self.profile.acknowledging:
            self.outbox.settle(notification, "delivered", response.status)
        elif (wait := project.next_wait(self._retries(notification))) is not None:
            self.outbox.postpone(notification, response.status, self.clock.now(), wait)
        else:
            self._give_up(order, notification, response)

    def _give_up(self, order: Order, notification: QueuedNotification, response: MerchantResponse) -> None:
        """End the retries; at deployed services a paid order then turns rejected, without a notification (EVT-12)."""
        # TRANSACTION: the notification and the order change together.
        with self.store.transaction():
            self.outbox.settle(notification, "given_up", response.status)
            current = self.ledger.find(order.id)
            unacknowledged = (
                notification.event is Event.PAYMENT_SUCCESS and self.profile.unacknowledged_is_rejected
            )
            if unacknowledged and current is not None and current.status == OrderStatus.PROCESSED:
                self.ledger.save(replace(current, status=OrderStatus.REJECTED))


def hold_back(fault: Fault | None, notification: QueuedNotification, outbox: Outbox, now: datetime) -> bool:
    """Drop or delay a notification if the fault says so; return whether it was."""
    kind = fault.kind if fault else None
    if fault is None or kind not in {FaultKind.DROP, *_DELAYING}:
        return False
    if kind is FaultKind.DROP:
        outbox.settle(notification, "lost", None)
    else:
        state = "waiting" if kind is FaultKind.REORDER else "due"
        outbox.hold(notification, now, fault.seconds or LONGEST_WAIT, state=state)
    return True
