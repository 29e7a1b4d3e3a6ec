"""When and how long to wait before the same request is sent again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from urllib3 import BaseHTTPResponse, Retry
from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import InvalidHeader, MaxRetryError, ResponseError

from checkout_integration.client.deadline import Deadline
from checkout_integration.client.pace import LONGEST_SHARED_PAUSE

ATTEMPTS_AFTER_THE_FIRST: Final = 4
FIRST_PAUSE_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 10
TOO_MANY_REQUESTS: Final = 429
REPEATED_STATUSES: Final = frozenset({TOO_MANY_REQUESTS, 500, 502, 503, 504})


class JitteredRetry(Retry):
    """Exponential back-off with full jitter; Retry-After is honoured up to a cap; no pause beyond the deadline.

    Full jitter (any time between nothing and the exponential bound) keeps many clients from returning
    at the same moment after an outage.
    """

    deadline: Deadline
    pause: float = 0.0
    slow_down: Callable[[float], None]

    @classmethod
    def within(
        cls,
        deadline: Deadline,
        *,
        repeatable: bool,
        slow_down: Callable[[float], None] = lambda seconds: None,
    ) -> JitteredRetry:
        """Return the retries for one call. A request that is not repeatable is sent once.

        ``slow_down`` is called after each 429, with the seconds of the pause.
        """
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
        retry.deadline, retry.slow_down = deadline, slow_down
        return retry

    def new(self, **kw: Any) -> Self:
        """Return the next state, with the same deadline."""
        retry = super().new(**kw)
        retry.deadline, retry.slow_down = self.deadline, self.slow_down
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
        if response is not None and response.status == TOO_MANY_REQUESTS:
            self.slow_down(self.new(retry_after_max=LONGEST_SHARED_PAUSE).next_pause(response))
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
        """Return a random time up to a limit that grows exponentially."""
        bound = min(self.backoff_max, self.backoff_factor * 2 ** (len(self.history) - 1))
        return random.uniform(0, bound)  # noqa: S311 -- spreads load, guards nothing

    def next_pause(self, response: BaseHTTPResponse | None) -> float:
        """Return seconds before the next attempt: the service's Retry-After, else the back-off."""
        try:
            seconds = self.get_retry_after(response) if response is not None else None
        except InvalidHeader:
            seconds = None
        return self.get_backoff_time() if seconds is None else seconds
