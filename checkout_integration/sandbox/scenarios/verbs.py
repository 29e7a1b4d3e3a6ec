"""`… do VERB`: one act at a sandbox that runs, from a second terminal: a payment, a refund, a testing case, a wait."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from checkout_integration.protocol.vocabulary import TestingCase
from checkout_integration.sandbox.scenarios.service import Refused, ScenarioService, Unreachable
from checkout_integration.sandbox.server.options import EXAMPLE_SECRET, Options, port

DONE: Final = 0
NOT_DONE: Final = 1
WRONG_USAGE: Final = 2
UNREACHABLE: Final = 3

ACTS: Final = {
    "pay": "the customer pays: card=NUMBER, wallet=NAME, crypto_currency=ADDRESS, recurring=true, receipt_email=…",
    "decline": "the payment system rejects the payment",
    "cancel": "the customer cancels; after_payment=true cancels a paid order",
    "refund": "money back: all that is left, or amount=4.00",
    "chargeback": "the customer's bank takes the payment back",
    "renew": "the next payment of a recurring agreement; declined=true declines it",
    "expire": "the form expires",
    "resend": "the last notification is sent again, or the last of event=payment.success",
}
WITHOUT_ORDER: Final = {
    "orders": "show the newest orders, with what can be done with each",
    "test": f"send a testing case: {', '.join(TestingCase)}; external_id=…",
    "set": "change a setting of the project: mode=pre_approval, mode=default, vat_payer=buyer, …",
    "wait": "let so many seconds pass: delivery attempts that are due are sent; now: back to the time of this host",
}
LAST: Final = "last"
NOW: Final = "now"
SHOWN: Final = 10
COMMAND: Final = "python -m checkout_integration.sandbox do"
WORDS: Final = {"true": True, "false": False}


def parser_for(environment: Mapping[str, str], command: str = COMMAND) -> argparse.ArgumentParser:
    """Return the parser of one act; ``command`` is what was typed before it."""
    verbs = "\n".join(f"  {name:12}{text}" for name, text in (ACTS | WITHOUT_ORDER).items())
    parser = argparse.ArgumentParser(
        prog=command,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Do one thing at a sandbox that runs, and print what came of it. Exit code: 0 done, 1 refused, 2 wrong"
        f" usage, 3 no sandbox responds.\n\nverbs:\n{verbs}",
        epilog=f"ORDER is an id, its beginning, or {LAST!r} for the newest one, of renew the newest with an agreement."
        " Further words are name=value.",
    )
    parser.add_argument("verb", choices=[*ACTS, *WITHOUT_ORDER], metavar="VERB")
    parser.add_argument("words", nargs="*", metavar="ORDER name=value")
    options = Options(parser, environment)
    options.add("--host", "127.0.0.1", "address of the sandbox")
    options.add("--port", "8090", "its port", read=port)
    options.add("--project-id", "", "identifier of the project, for a testing case")
    return parser


def main(arguments: Sequence[str], command: str = COMMAND) -> int:
    """Do what the words say, print it, and return the exit code."""
    parser = parser_for(os.environ, command)
    chosen = parser.parse_args(arguments)
    try:
        given, subject = _values(chosen.words)
        service = ScenarioService(f"http://{chosen.host}:{chosen.port}", chosen.project_id, EXAMPLE_SECRET)
        for line in _done(service, chosen.verb, subject, given, chosen.project_id):
            print(line)
    except ValueError as error:
        parser.error(str(error))
    except Refused as error:
        print(error, file=sys.stderr)
        return NOT_DONE
    except Unreachable as error:
        print(f"{error}: start it with manage.py checkout_sandbox", file=sys.stderr)
        return UNREACHABLE
    return DONE


def _values(words: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Return the values by their names, and the one word without a name.

    Raises:
        ValueError: there are several of these.
    """
    named = [word.partition("=") for word in words if "=" in word]
    others = [word for word in words if "=" not in word]
    if len(others) > 1:
        raise ValueError(f"{' '.join(others[1:])!r} has no name: write name=value")
    return {name: WORDS.get(value, value) for name, _, value in named}, others[0] if others else ""


def _done(
    service: ScenarioService, verb: str, subject: str, given: dict[str, Any], project_id: str
) -> list[str]:
    if verb == "orders":
        several = len(service.control("GET", "projects")["projects"]) > 1
        return [
            (f"{order['project_id']} " if several else "") + _line(order)
            for order in _orders(service)[:SHOWN]
        ] or ["no order yet"]
    if verb == "test":
        if subject not in set(TestingCase):
            raise ValueError(f"name a testing case: {', '.join(TestingCase)}")
        project = {"project_id": project_id} if project_id else {}
        trial = service.control("POST", f"testing/{subject}", {**project, **given})
        return [", ".join(f"{name}: {value}" for name, value in trial.items() if value not in (None, ""))]
    if verb == "set":
        identifier = project_id or service.control("GET", "project")["project_id"]
        settings = {name: int(value) if str(value).isdecimal() else value for name, value in given.items()}
        changed = service.control("PATCH", f"project/{identifier}", settings)
        # The answer has no key: that it was changed is all that is said of it.
        return [f"{identifier}: " + ", ".join(f"{name}: {changed.get(name, 'changed')}" for name in settings)]
    if verb == "wait":
        if not subject.isdecimal() and subject != NOW:
            raise ValueError(f"say how many seconds pass, such as: wait 600, or: wait {NOW}")
        step = {"back": _seconds_ahead(service)} if subject == NOW else {"advance": int(subject)}
        now = service.control("POST", "clock", step)["now"]
        service.control("POST", "deliver", {})
        return [f"it is {now}"]
    order = service.control("POST", f"orders/{_order(service, subject, verb)}/{verb}", given)
    service.control("POST", "deliver", {})
    outcome = f"{order['outcome']}: " if "outcome" in order else ""
    return [outcome + _line(service.control("GET", f"orders/{order['id']}"))]


def _seconds_ahead(service: ScenarioService) -> float:
    """Return how far the service's clock is ahead of this host's: by what it was let wait."""
    theirs = datetime.fromisoformat(service.control("GET", "clock")["now"])
    return max((theirs - datetime.now(UTC)).total_seconds(), 0)


def _orders(service: ScenarioService, beginning: str = "") -> list[dict[str, Any]]:
    """Return the newest orders whose ids begin so, without the items that a reversal has in the list."""
    found = service.control("GET", f"orders?{urlencode({'id': beginning})}")
    return [order for order in found["orders"] if not order["reversal"]]


def _order(service: ScenarioService, text: str, verb: str) -> str:
    """Return the id of the order that is meant; the last to renew is no renewal that was declined.

    Raises:
        ValueError: none is, or several are.
    """
    orders = _orders(service, "" if text == LAST else text)
    known = [str(order["id"]) for order in orders]
    if text == LAST and known:
        renewable = [str(order["id"]) for order in orders if verb == "renew" and verb in order["actions"]]
        return [*renewable, *known][0]
    found = [each for each in known if text and each.startswith(text)]
    if len(found) > 1 and text not in found:
        raise ValueError(f"{len(found)} orders begin with {text!r}")
    if not found and not text:
        raise ValueError(f"name an order, or {LAST!r}; orders shows them")
    return text if text in found or not found else found[0]


def _line(order: Mapping[str, Any]) -> str:
    sent = [each for each in order["notifications"] if each]
    last = f", sent {sent[-1]['event']} ({sent[-1]['state']})" if sent else ""
    acts = ", ".join(order["actions"]) or "nothing"
    return f"{order['id']} {order['status']} {order['amount']} {order['currency']}{last}; possible: {acts}"
