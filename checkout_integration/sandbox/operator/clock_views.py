"""The operator page's forms for the clock: move it forward and back, let it run or stop it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.wire import page_response

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_PATIENCE: Final = 2.0
_MINUTE: Final = timedelta(minutes=1)
_UNITS: Final = {"day": timedelta(days=1), "hour": timedelta(hours=1), "minute": _MINUTE}


class ClockViews:
    """The operator's views of the clock."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/operator/clock", methods=["POST"], endpoint=self.move),
            Rule("/_sandbox/operator/clock/real", methods=["POST"], endpoint=self.turn_back),
        ]

    def move(self, request: Request) -> Response:
        """Move the clock forward, let it run, or stop it."""
        if request.form.get("running") in {"yes", "no"}:
            self._sandbox.clock.set_running(request.form["running"] == "yes")
        seconds = request.form.get("advance", "")
        known = seconds.isascii() and seconds.isdigit() and len(seconds) < 10
        try:
            self._sandbox.clock.advance(float(seconds) if known else 0)
        except ValueError as error:
            return page_response(message_page("Not possible", f"{error}.", TO_OPERATOR), 400)
        return self._shown()

    def turn_back(self, request: Request) -> Response:
        """Turn a clock that is ahead back to real time."""
        self._sandbox.turn_back(self._sandbox.clock.ahead().total_seconds())
        return self._shown()

    def _shown(self) -> Response:
        """Redirect to the page after a moment, so that it shows what became due and was delivered."""
        self._sandbox.wait_idle(_PATIENCE)
        return redirect("/_sandbox/", 303)


def span_in_words(span: timedelta) -> str:
    """Return a length of time in its two largest units, such as `2 days 3 hours`; "" for less than half a minute."""
    left, words = round(span / _MINUTE) * _MINUTE, []
    for unit, length in _UNITS.items():
        number, left = divmod(max(left, timedelta()), length)
        if number:
            words.append(f"{number} {unit}{'' if number == 1 else 's'}")
    return " ".join(words[:2])
