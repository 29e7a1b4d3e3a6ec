"""When and how long to wait before the same request is sent again."""

from __future__ import annotations

import random
import time
from types import TracebackType
from typing import Any, Final, Self

from urllib3 import BaseHTTPResponse, Retry
from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import InvalidHeader, MaxRetryError, ResponseError

from checkout_integration.client.deadline import Deadline

ATTEMPTS_AFTER_THE_FIRST: Final = 4
FIRST_PAUSE_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 10
REPEATED_STATUSES: Final = frozenset({429, 500, 502, 503, 504})


class JitteredRetry(Retry):
    """Exponential back-off with full jitter; Retry-After is honoured up to a cap; no pause beyond the deadline.

    Full jitter (any time between nothing and the exponential bound) keeps many clients from returning
    at the same moment after an outage.
    """

    deadline: Deadline
    pause: float = 0.0

    @classmethod
    def within(cls, deadline: Deadline, *, repeatable: bool) -> JitteredRetry:
        """Retries for one call. A request that is not repeatable is sent once, whatever happens."""
        retry = cls(
            total=ATTEMPTS_AFTER_THE_FIRST if repeatable else 0,
            redirect=0,
            allowed_methods=None if repeatable else frozenset({"GET"}),
            status_forcelist=REPEATED_STATUSES if repeatable else (),
            respect_retry_after_header=repeatable,
            backoff_factor=FIRST_PAUSE_SECONDS,
            backoff_max=LONGEST_PAUSE_SECONDS,
            retry_after_max=LONGEST_PAUSE_SECONDS,
            raise_on_redirect=False,
            raise_on_status=False,
        )
        retry.deadline = deadline
        return retry

    def new(self, **kw: Any) -> Self:
        """The next state, with the same deadline."""
        retry = super().new(**kw)
        retry.deadline = self.deadline
        return retry

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: ConnectionPool | None = None,
        _stacktrace: TracebackType | None = None,
    ) -> Self:
        """Decide about the next attempt; gives up when the pause before it would outlast the deadline."""
        retry = super().increment(method, url, response, error, _pool, _stacktrace)
        retry.pause = retry.next_pause(response)
        if retry.pause >= self.deadline.remaining():
            raise MaxRetryError(_pool, url or "", error or ResponseError("no time left"))  # type: ignore[arg-type]
        if response is not None:
            # urllib3 would read this body to its end, however slowly it comes.
            response.close()
        return retry

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        """Wait as decided."""
        time.sleep(self.pause)

    def get_backoff_time(self) -> float:
        """A random part of the exponential bound."""
        bound = min(self.backoff_max, self.backoff_factor * 2 ** (len(self.history) - 1))
        return random.uniform(0, bound)  # noqa: S311 -- spreads load, guards nothing

    def next_pause(self, response: BaseHTTPResponse | None) -> float:
        """Seconds before the next attempt: what the service asked for, else the back-off."""
        try:
            asked = self.get_retry_after(response) if response is not None else None
        except InvalidHeader:
            asked = None
        return self.get_backoff_time() if asked is None else asked
