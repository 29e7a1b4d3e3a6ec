"""The operator page's part about the clock: moving it forward and back, letting it run or stand."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from markupsafe import Markup
from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.form_pages import TO_OPERATOR, message_page
from checkout_integration.sandbox.pages import choices, fill
from checkout_integration.sandbox.wire import page_answer

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_PATIENCE: Final = 2.0
_MINUTE: Final = timedelta(minutes=1)
_UNITS: Final = {"day": timedelta(days=1), "hour": timedelta(hours=1), "minute": _MINUTE}


class OperatorClock:
    """Moves the clock."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/operator/clock", methods=["POST"], endpoint=self.move),
            Rule("/_sandbox/operator/clock/real", methods=["POST"], endpoint=self.turn_back),
        ]

    def move(self, request: Request) -> Response:
        """Move the clock forward, or let it run or stand."""
        if request.form.get("running") in {"yes", "no"}:
            self._sandbox.clock.set_running(request.form["running"] == "yes")
        seconds = request.form.get("advance", "")
        known = seconds.isascii() and seconds.isdigit() and len(seconds) < 10
        try:
            self._sandbox.clock.advance(float(seconds) if known else 0)
        except ValueError as error:
            return page_answer(message_page("Not possible", f"{error}.", TO_OPERATOR), 400)
        return self._shown()

    def turn_back(self, request: Request) -> Response:
        """Turn a clock that is ahead back to real time."""
        self._sandbox.turn_back(self._sandbox.clock.ahead().total_seconds())
        return self._shown()

    def _shown(self) -> Response:
        """Return to the page, after a moment in which what became due can be delivered and be seen there."""
        self._sandbox.wait_idle(_PATIENCE)
        return redirect("/_sandbox/", 303)


def clock_part(clock: VirtualClock) -> Markup:
    """Return the operator page's forms for the clock, with how far it is ahead of real time."""
    ahead = span_in_words(clock.ahead())
    return fill(
        "clock",
        ahead=fill("clock_ahead", span=ahead) if ahead else "",
        running=choices(
            {"yes": "runs with real time", "no": "stands still"}, "yes" if clock.running else "no"
        ),
    )


def span_in_words(span: timedelta) -> str:
    """Return a length of time in its two largest units, such as `2 days 3 hours`; "" for less than half a minute."""
    left, words = round(span / _MINUTE) * _MINUTE, []
    for unit, length in _UNITS.items():
        number, left = divmod(max(left, timedelta()), length)
        if number:
            words.append(f"{number} {unit}{'' if number == 1 else 's'}")
    return " ".join(words[:2])
