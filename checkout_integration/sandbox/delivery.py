"""The threads that deliver notifications: what is not acknowledged comes again (EVT-09)."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import Final

from checkout_integration.protocol.vocabulary import Event, OrderStatus
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.documents import Documents
from checkout_integration.sandbox.faults import Fault, FaultSwitchboard
from checkout_integration.sandbox.faults_catalogue import FaultKind, FaultPoint
from checkout_integration.sandbox.json_text import read_json, write_json
from checkout_integration.sandbox.ledger import Ledger
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.outgoing import Delivery, Outgoing
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.project import Projects, SandboxProject
from checkout_integration.sandbox.run_log import RunLog
from checkout_integration.sandbox.sending import Answer, send_notification
from checkout_integration.sandbox.store import Store
from checkout_integration.sandbox.unreliable_delivery import HELD, kept_back
from checkout_integration.sandbox.unreliable_shape import in_old_shape

_THREADS: Final = 4
_LONGEST_NAP: Final = 60.0


class DeliveryThreads:
    """Sends what is due, retries on the project's schedule of virtual time, and tells when nothing is left."""

    def __init__(
        self,
        *,
        store: Store,
        ledger: Ledger,
        projects: Projects,
        outgoing: Outgoing,
        documents: Documents,
        clock: VirtualClock,
        faults: FaultSwitchboard,
        log: RunLog,
        profile: Profile,
    ) -> None:
        """Work on the sandbox's parts; nothing runs before `start`."""
        self._store = store
        self._ledger = ledger
        self._projects = projects
        self._outgoing = outgoing
        self._documents = documents
        self._clock = clock
        self._faults = faults
        self._log = log
        self._profile = profile
        self._changed = threading.Condition()
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self._held: set[int] = set()
        clock.subscribe(self.wake)

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
        """Wait until nothing is due now or being sent; False when `timeout` (real seconds) passed first."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while self._outgoing.busy(self._clock.now()):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def _run(self) -> None:
        while not self._stopping:
            delivery = self._outgoing.claim(self._clock.now())
            if delivery is None:
                self._nap()
                continue
            try:
                self._attempt(delivery)
            except Exception as error:  # noqa: BLE001 -- a dead thread would leave the message in work for ever
                self._outgoing.settle(delivery, f"lost: {type(error).__name__}", None)
            finally:
                self.wake()

    def _nap(self) -> None:
        # RACE: a message queued between claim and wait would sleep, so the queue is asked again under the
        # condition's lock, which `wake` takes after each commit.
        with self._changed:
            now = self._clock.now()
            due_at = self._outgoing.next_due()
            if self._stopping or (due_at is not None and due_at <= now):
                return
            seconds = _LONGEST_NAP
            if due_at is not None and self._clock.running:
                seconds = min(seconds, (due_at - now).total_seconds())
            self._changed.wait(seconds)

    def _attempt(self, delivery: Delivery) -> None:
        order = self._ledger.find(delivery.order_id)
        project = self._projects.find(order.project_id) if order else None
        if order is None or project is None:
            self._outgoing.settle(delivery, "lost", None)
            return
        fault = self._fault_of(delivery)
        if kept_back(fault, delivery, self._outgoing, self._clock.now()):
            self._record(order, delivery, b"", Answer(status=0), fault)
            return
        answer = self._send(order, project, delivery, fault)
        # RACE: released while this one still counts as being sent, or `wait_idle` could end between the two.
        self._outgoing.release(order.id, self._clock.now())
        self._conclude(order, project, delivery, answer)

    def _fault_of(self, delivery: Delivery) -> Fault | None:
        """Return the fault that strikes this attempt; one that keeps a message back does so once."""
        strike = self._faults.draw(FaultPoint.NOTIFICATION, delivery.event)
        if strike is None or strike.fault.kind not in HELD:
            return strike.fault if strike else None
        if delivery.seq in self._held:
            return None
        self._held.add(delivery.seq)
        return strike.fault

    def _send(self, order: Order, project: SandboxProject, delivery: Delivery, fault: Fault | None) -> Answer:
        kind = fault.kind if fault else None
        if fault is not None and kind is FaultKind.SLOW:
            time.sleep(fault.seconds)
        answer = Answer(status=0)
        for _ in range(2 if kind is FaultKind.DUPLICATE else 1):
            body = self._body(order, project, delivery, kind)
            answer = send_notification(
                order.webhook_url,
                body,
                order.secret_key,
                timeout=project.attempt_timeout,
                anywhere=project.unsafe_allow_any_webhook,
                fault=kind,
            )
            self._record(order, delivery, body, answer, fault)
        return Answer(status=0) if kind is FaultKind.UNHEARD else answer

    def _body(
        self, order: Order, project: SandboxProject, delivery: Delivery, kind: FaultKind | None
    ) -> bytes:
        # WHY from when it was due: every attempt that comes in time then tells the same end (EVT-10).
        last = delivery.due_at + timedelta(seconds=project.seconds_left(delivery.delivery_try))
        message = self._documents.notification(
            id=delivery.notification_id,
            event=delivery.event,
            live=order.live,
            created_at=self._clock.now() if self._profile.attempt_is_created_at else delivery.created_at,
            delivery_try=delivery.delivery_try,
            payload=read_json(delivery.object),
            expires_at=last if project.tells_expiry else None,
        )
        return write_json(in_old_shape(message) if kind is FaultKind.OLD_SHAPE else message).encode()

    def _conclude(self, order: Order, project: SandboxProject, delivery: Delivery, answer: Answer) -> None:
        if answer.status in self._profile.acknowledging:
            self._outgoing.settle(delivery, "delivered", answer.status)
        elif (wait := project.next_wait(delivery.delivery_try)) is not None:
            self._outgoing.postpone(delivery, answer.status, self._clock.now(), wait)
        else:
            self._give_up(order, delivery, answer)

    def _give_up(self, order: Order, delivery: Delivery, answer: Answer) -> None:
        """End the retries; a paid order that nobody acknowledged may turn rejected, in silence (field notes)."""
        # TRANSACTION: the message and the order change together.
        with self._store.transaction():
            self._outgoing.settle(delivery, "given_up", answer.status)
            current = self._ledger.find(order.id)
            unacknowledged = (
                delivery.event is Event.PAYMENT_SUCCESS and self._profile.unacknowledged_is_rejected
            )
            if unacknowledged and current is not None and current.status == OrderStatus.PROCESSED:
                self._ledger.save(replace(current, status=OrderStatus.REJECTED))

    def _record(
        self, order: Order, delivery: Delivery, body: bytes, answer: Answer, fault: Fault | None
    ) -> None:
        note = f"fault: {fault.kind}" if fault else ""
        words = [delivery.event, f"try {delivery.delivery_try}", note, answer.note]
        self._log.record(
            at=write_moment(self._clock.now()),
            direction="out",
            method="POST",
            url=order.webhook_url,
            status=answer.status,
            request=body,
            answer=answer.body,
            note=", ".join(filter(None, words)),
        )
