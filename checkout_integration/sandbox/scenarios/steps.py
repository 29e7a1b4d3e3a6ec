"""The actions of a scenario's verbs; each returns its result in a few words."""

from __future__ import annotations

import uuid
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Final

from checkout_integration.protocol.vocabulary import TestingCase, WebhookMode
from checkout_integration.sandbox.payments.payments import Outcome
from checkout_integration.sandbox.scenarios.scenario_file import (
    SETTINGS,
    Scenario,
    ScenarioError,
    Step,
    span_of,
)
from checkout_integration.sandbox.scenarios.service import Refused, ScenarioService

_REFERENCE: Final = "scenario_reference"
_SIMPLE: Final = {"type": "simple", "amount": 9.99, "currency": "USD", "description": "Scenario"}
_SHORT: Final = {"drop", "duplicate", "reorder"}
_ACTIONS: Final = {"pay", "decline", "cancel", "refund", "chargeback", "expire", "resend"}


class Steps:
    """The steps of one story on one service.

    Attributes:
        options: those of the command, about the shop.
        orders: name in the story → order id.
        references: name in the story → the reference in the order's metadata.
        started_after: number of the log entry before the story.
    """

    def __init__(self, service: ScenarioService, scenario: Scenario, options: Namespace) -> None:
        """Prepare the story: nothing is changed yet, and the project's settings are read, for `end`."""
        self.service = service
        self.options = options
        self.orders: dict[str, str] = {}
        self.references: dict[str, str] = {}
        self.started_after = service.last_number()
        self._scenario = scenario
        self._current_secret = service.secret_key
        self._before = service.project()
        self._advanced = 0.0
        self._verbs: Mapping[str, Callable[[Step], str]] = {
            **dict.fromkeys(_ACTIONS, self._act),
            **dict.fromkeys((*_SHORT, "fault"), self._fault),
            "create": self._create,
            "try_again": self._try_again,
            "renew": self._renew,
            "advance": self._advance,
            "faults_off": self._faults_off,
            "rotate_secret": self._rotate_secret,
            "project": self._project,
            "testing_case": self._testing_case,
            "sync": self._sync,
        }

    def set_up(self) -> None:
        """Change the project's settings to those of the story; the mode is `default` if the story names none.

        Raises:
            ScenarioError: the project refuses this.
        """
        settings = {"mode": WebhookMode.DEFAULT, **self._scenario.project}
        if "previous_secret_key" in self._scenario.needs:
            self.service.secret_key = settings["secret_key"] = self.options.previous_secret_key
        try:
            self.service.project("PATCH", settings)
        except Refused as error:
            raise ScenarioError(f"{self._scenario.name}: {error}") from None
        self.service.control("PUT", "faults", {"seed": self._scenario.seed, "rules": []})

    def end(self) -> None:
        """Restore project and clock, and switch all faults off."""
        self.service.control("PUT", "faults", {"rules": []})
        self.service.control("POST", "clock", {"back": self._advanced})
        self.service.secret_key = self._current_secret
        changed = {*self._scenario.project, *SETTINGS}
        before = {name: self._before[name] for name in changed if name in self._before}
        self.service.project("PATCH", {**before, "secret_key": self._current_secret})

    def do(self, step: Step) -> str:
        """Run a step, and deliver what is due then."""
        result = self._verbs[step.verb](step)
        self.service.control("POST", "deliver", {"timeout": 60})
        return result

    def _create(self, step: Step) -> str:
        name, by = str(step.settings["order"]), step.settings.get("by", "order")
        reference = f"{self._scenario.name}-{name}-{uuid.uuid4().hex[:8]}"
        purchase = {**_SIMPLE, **(step.settings.get("with") or {})}
        if step.settings.get("user") == "known":
            purchase["user"] = {**(purchase.get("user") or {}), "external_id": self.options.known_user}
        purchase["metadata"] = {**(purchase.get("metadata") or {}), _REFERENCE: reference}
        create = self.service.create_by_token if by == "token" else self.service.create_order
        self.orders[name], self.references[name] = create(purchase), reference
        return f"{name} is order {self.orders[name]}"

    def _act(self, step: Step) -> str:
        before = self.service.last_number()
        settings = {name: value for name, value in step.settings.items() if name not in {"order", "outcome"}}
        order = self.service.control("POST", f"orders/{self.order_id(step)}/{step.verb}", settings)
        expected, outcome = step.settings.get("outcome"), order.get("outcome", "")
        if expected and outcome != expected:
            raise Refused(f"the outcome is {outcome}, not {expected}{self._refusal(outcome, before)}")
        return f"{step.settings['order']}: {outcome or order['status']}"

    def _refusal(self, outcome: str, since: int) -> str:
        """Return the shop's response to user.validate in words, if it refused the payment."""
        if outcome != Outcome.REFUSED:
            return ""
        status = next(reversed(self.service.validation_responses(since)), 0)
        return f": user.validate was answered {status}" if status else ": user.validate was not answered"

    def _try_again(self, step: Step) -> str:
        name = str(step.settings.get("as") or f"{step.settings['order']} again")
        self._follow(step, name, self.service.try_again(self.order_id(step)))
        return f"{name} is order {self.orders[name]}"

    def _renew(self, step: Step) -> str:
        name = str(step.settings.get("as") or f"{step.settings['order']} renewed")
        body = {"declined": True} if step.settings.get("declined") else {}
        renewal = self.service.control("POST", f"orders/{self.order_id(step)}/renew", body)
        self._follow(step, name, str(renewal["id"]))
        return f"{name} is order {self.orders[name]}: {renewal['status']}"

    def _follow(self, step: Step, name: str, order_id: str) -> None:
        """Remember a new order, which has the metadata of the one that the step names."""
        self.orders[name] = order_id
        self.references[name] = self.references[str(step.settings["order"])]

    def _advance(self, step: Step) -> str:
        seconds = span_of(step.settings["by"])
        for _ in range(step.settings.get("times", 1)):
            self.service.control("POST", "clock", {"advance": seconds})
            self._advanced += seconds
            self.service.control("POST", "deliver", {"timeout": 60})
        return f"it is {self.service.control('GET', 'clock')['now']}"

    def _fault(self, step: Step) -> str:
        short = {"kind": step.verb, "times": 1} if step.verb in _SHORT else {}
        rule = {name: value for name, value in (short | dict(step.settings)).items() if value is not None}
        self.service.control("POST", "faults", {"point": "notification", **rule})
        more = [f"{name} {value}" for name, value in rule.items() if name not in {"kind", "point"}]
        return ", ".join([str(rule["kind"]), *more])

    def _faults_off(self, step: Step) -> str:
        self.service.control("PUT", "faults", {"seed": self._scenario.seed, "rules": []})
        return "nothing goes wrong from here on"

    def _rotate_secret(self, step: Step) -> str:
        self.service.project("PATCH", {"secret_key": self._current_secret})
        self.service.secret_key = self._current_secret
        return "new orders are signed with the shop's current secret"

    def _project(self, step: Step) -> str:
        self.service.project("PATCH", dict(step.settings))
        return ", ".join(f"{name} {value}" for name, value in step.settings.items())

    def _testing_case(self, step: Step) -> str:
        case = step.settings["case"]
        body = {"external_id": self.options.known_user} if case == TestingCase.EXISTING_USER else {}
        trial = self.service.control("POST", f"testing/{case}", body)
        response = f"{case} answered {trial['status']} {trial['code']}".rstrip()
        if not trial["passed"]:
            raise Refused(f"{response}, not {trial['expected']}")
        return response

    def _sync(self, step: Step) -> str:
        if not self.options.sync_url:
            return "left to the shop (no --sync-url)"
        self.service.ask("POST", self.options.sync_url)
        return "the shop has read the list"

    def order_id(self, step: Step) -> str:
        """Return the id of the order that a step names.

        Raises:
            Refused: the story has no order of this name yet.
        """
        name = str(step.settings.get("order"))
        if name not in self.orders:
            raise Refused(f"no order is called {name!r} so far")
        return self.orders[name]
