"""The four testing cases: what the service sends to test a merchant's receiver, and whether the response is right.

Nothing of them is stored as an order.
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from checkout_integration.protocol.vocabulary import (
    INVALID_SIGNATURE_CODE,
    INVALID_USER_CODE,
    Event,
    OrderStatus,
    OrderType,
    TestingCase,
    WebhookMode,
)
from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.notify.sender import Sender
from checkout_integration.sandbox.notify.signed_request import MerchantResponse
from checkout_integration.sandbox.orders.documents import Context, Documents
from checkout_integration.sandbox.orders.order import NO_USER, Order
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.wire.errors import RefusedError
from checkout_integration.sandbox.wire.json_text import NotJsonError, read_json, write_json
from checkout_integration.sandbox.wire.moments import write_moment
from checkout_integration.sandbox.wire.signing import WRONG_KEY

_MOST_RESULTS: Final = 20
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CODES: Final = {
    TestingCase.NON_EXISTING_USER: INVALID_USER_CODE,
    TestingCase.INVALID_SIGNATURE: INVALID_SIGNATURE_CODE,
}
_ABOUT_USERS: Final = {TestingCase.EXISTING_USER, TestingCase.NON_EXISTING_USER}


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One run of a testing case.

    Attributes:
        at: virtual time, RFC 3339.
        expected: the right response in words: `200`, or `4xx INVALID_USER`.
        status, code: of the response; status 0 when there was none, code "" when its body has none.
        passed: whether the response was the right one.
    """

    case: TestingCase
    project_id: str
    external_id: str
    event: Event
    at: str
    expected: str
    status: int
    code: str
    passed: bool


@dataclass(eq=False)
class TestingCases:
    """The testing cases and their newest results; thread-safe."""

    __test__ = False  # pytest must not collect this class

    documents: Documents
    clock: VirtualClock
    sender: Sender
    profile: Profile

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._trials: deque[Trial] = deque(maxlen=_MOST_RESULTS)

    def trials(self) -> list[Trial]:
        """Return the newest results, newest first."""
        with self._lock:
            return list(self._trials)

    def run(self, project: SandboxProject, case: TestingCase, external_id: str) -> Trial:
        """Send the notification of the case for the tester `external_id` once, and judge the response (ORD-43).

        Raises:
            RefusedError: 409, the project has no webhook URL.
        """
        if not project.webhook_url:
            raise RefusedError(409, "sb000008", "the project has no webhook URL")
        asks = project.mode is WebhookMode.PRE_APPROVAL and case in _ABOUT_USERS
        event = Event.USER_VALIDATE if asks else Event.PAYMENT_SUCCESS
        if asks and case is TestingCase.NON_EXISTING_USER:
            external_id = f"nobody-{uuid.uuid4().hex[:12]}"
        response = self._send(project, case, event, external_id)
        expected_code, code = _CODES.get(case, ""), _code_of(response.body)
        refused = 400 <= response.status < 500 and code == expected_code
        trial = Trial(
            case=case,
            project_id=project.project_id,
            external_id=external_id,
            event=event,
            at=write_moment(self.clock.now()),
            expected=f"4xx {expected_code}" if expected_code else "200",
            status=response.status,
            code=code,
            passed=refused if expected_code else response.status == 200,
        )
        with self._lock:
            self._trials.appendleft(trial)
        return trial

    def _send(
        self, project: SandboxProject, case: TestingCase, event: Event, external_id: str
    ) -> MerchantResponse:
        now = self.clock.now()
        order = self._order(project, external_id, now)
        about_user = event is Event.USER_VALIDATE
        message = self.documents.notification(
            id=str(uuid.uuid4()),
            event=event,
            live=project.live,
            created_at=now,
            delivery_try=1 if about_user else self.profile.first_attempt,
            payload=self.documents.user(order) if about_user else self._payload(order, case),
        )
        return self.sender.send(
            project,
            write_json(message).encode(),
            event,
            f"testing case {case}",
            url=project.webhook_url,
            secret_key=WRONG_KEY if case is TestingCase.INVALID_SIGNATURE else project.secret_key,
        )

    def _order(self, project: SandboxProject, external_id: str, now: datetime) -> Order:
        """Return the order of the test object, with an identifier that no other order has."""
        return Order(
            id=str(uuid.uuid4()),
            project_id=project.project_id,
            secret_key=project.secret_key,
            webhook_url=project.webhook_url,
            live=project.live,
            type=OrderType.SIMPLE,
            status=OrderStatus.PROCESSED,
            created_at=_EPOCH if self.profile.test_object_bare else now,
            description="Testing case",
            amount=Decimal(10),
            original_amount=Decimal(10),
            currency=project.currency,
            charge_amount=Decimal(10),
            charge_currency=project.currency,
            user={**NO_USER, "id": uuid.uuid4().hex, "external_id": external_id},
            vat_payer=project.vat_payer,
            company_name=project.title,
            agreement_number=project.agreement_number,
        )

    def _payload(self, order: Order, case: TestingCase) -> dict[str, Any]:
        payload = self.documents.order(order, Context.WEBHOOK) | {"testing_case": case}
        if self.profile.test_object_bare:
            never = write_moment(_EPOCH)
            payload |= {"status": "", "object": "", "canceled_at": never, "refunded_at": never}
        return payload


def _code_of(body: bytes) -> str:
    """Return the `code` of an error object (ERR-01), "" when the body is none."""
    try:
        document = read_json(body)
    except NotJsonError:
        return ""
    code = document.get("code") if isinstance(document, dict) else None
    return code[:64] if isinstance(code, str) else ""
