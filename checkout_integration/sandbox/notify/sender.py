"""The way of every request to a merchant: signed, changed by its fault if it has one, and recorded in the run log."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.faults.catalogue import FaultKind
from checkout_integration.sandbox.faults.switchboard import Fault
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.notify.signed_request import MerchantResponse, send_notification
from checkout_integration.sandbox.wire.moments import write_moment
from checkout_integration.sandbox.wire.run_log import Exchange, RunLog

_NOT_SENT: Final = {FaultKind.DROP, FaultKind.DELAY, FaultKind.REORDER}
_NO_ADDRESS: Final = "the project has no webhook URL"


@dataclass(frozen=True)
class Sender:
    """Sends notifications, user.validate and testing cases alike."""

    clock: VirtualClock
    log: RunLog

    def send(
        self,
        project: SandboxProject,
        body: bytes,
        *words: str,
        url: str,
        secret_key: str,
        fault: Fault | None = None,
        follow: bool = True,
    ) -> MerchantResponse:
        """POST a body to `url`, and return the response as the service sees it; network errors never raise.

        Args:
            project: whose time-out counts, and whether other machines may be called.
            body: the notification, not yet signed.
            *words: for the run log: the event, and what else there is to say.
            url: the webhook; "" sends nothing.
            secret_key: signs the body.
            fault: may send nothing, wait first, send twice (the second response counts) or lose the response.
            follow: whether one redirect is followed.

        """
        kind = fault.kind if fault else None
        response = MerchantResponse(status=0, note="" if url else _NO_ADDRESS)
        if not url or kind in _NOT_SENT:
            self._record(url, b"", response, words, fault)
            return response
        if fault is not None and kind is FaultKind.SLOW:
            time.sleep(fault.seconds)
        for _ in range(2 if kind is FaultKind.DUPLICATE else 1):
            response = send_notification(
                url,
                body,
                secret_key,
                timeout=project.attempt_timeout,
                anywhere=project.unsafe_allow_any_webhook,
                fault=kind,
                follow=follow,
            )
            self._record(url, body, response, words, fault)
        return MerchantResponse(status=0) if kind is FaultKind.UNHEARD else response

    def _record(
        self, url: str, body: bytes, response: MerchantResponse, words: tuple[str, ...], fault: Fault | None
    ) -> None:
        note = [*words, f"fault: {fault.kind}" if fault else "", response.note]
        exchange = Exchange(
            at=write_moment(self.clock.now()),
            direction="out",
            method="POST",
            url=url,
            status=response.status,
            request=body,
            answer=response.body,
            note=", ".join(filter(None, note)),
        )
        self.log.record(exchange)
