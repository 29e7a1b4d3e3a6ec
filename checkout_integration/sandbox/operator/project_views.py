"""The operator's page of one project: its settings, and a new secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import VatPayer, WebhookMode
from checkout_integration.sandbox.merchant import SandboxProject
from checkout_integration.sandbox.pages import TO_OPERATOR, message_page, render
from checkout_integration.sandbox.wire import RefusedError, page_response

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_TEXTS: Final = {
    "webhook_url": "Webhook URL",
    "title": "Seller's name",
    "agreement_number": "Number of the agreement",
    "success_url": "Return URL after success",
    "fail_url": "Return URL after failure",
    "currency": "Currency of products",
    "charge_currency": "Currency of customers' cards, empty is the order's",
}
_SWITCHES: Final = {
    "live": ("Payments", "live", "test"),
    "activated": ("Account for live requests", "activated", "not activated: 402"),
    "suspended": ("Project", "suspended: 403", "in good standing"),
    "dynamic_urls": ("Return URLs in requests", "allowed", "refused"),
    "ask_billing_address": ("Billing address", "a field of the form", "not on the form"),
    "tells_expiry": ("expires_at of notifications", "sent", "empty"),
}
_CHOICES: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "invalid_status": ("Answer to invalid data", {"400": "400", "422": "422"}),
    "mode": ("Webhook mode", {mode: mode.replace("_", "-") for mode in WebhookMode}),
    "vat_payer": ("VAT is paid by", {payer: payer for payer in VatPayer}),
}


def _whole(number: Decimal) -> int:
    """Return a whole number as an int; int() alone would turn 1.5 into 1."""
    if number != int(number):
        raise ValueError(f"A whole number is required, not {number}.")
    return int(number)


_NUMBERS: Final[Mapping[str, tuple[str, Callable[[Decimal], object]]]] = {
    "retry_interval": ("Seconds between attempts", float),
    "retry_limit": ("Further attempts", _whole),
    "attempt_timeout": ("Seconds to wait for an answer", float),
    "virtual_currency_price": ("Price of a unit of virtual currency", Decimal),
    "charge_rate": ("Rate of the cards' currency", Decimal),
}
_STATUS: Final = "invalid_status"
_SCHEDULE: Final = "retry_schedule"
_SECRET: Final = "new_secret_key"
_OTHERS: Final = {
    _SCHEDULE: ("Seconds before each further attempt, in the place of interval and number", "60, 600, 3600"),
    _SECRET: ("New secret key", "empty keeps the old one"),
}
_GROUPS: Final = {
    "Notifications": "webhook_url mode retry_interval retry_limit retry_schedule attempt_timeout tells_expiry",
    "Money": "live activated currency virtual_currency_price vat_payer charge_currency charge_rate",
    "Form": "title agreement_number success_url fail_url dynamic_urls ask_billing_address",
    "Access": "new_secret_key suspended invalid_status",
}


class ProjectViews:
    """The settings of a project; the secret can be replaced but is never shown."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        path = "/_sandbox/operator/project/<project_id>"
        return [
            Rule(path, methods=["GET"], endpoint=self.show),
            Rule(path, methods=["POST"], endpoint=self.change),
        ]

    def show(self, request: Request, project_id: str) -> Response:
        """Show the settings."""
        project = self._sandbox.projects.find(project_id)
        if project is None:
            return page_response(
                message_page("No such project", "It is not one of this sandbox.", TO_OPERATOR), 404
            )
        return page_response(settings_page(project, "Changes count for what is created from now on."))

    def change(self, request: Request, project_id: str) -> Response:
        """Change the settings that are in the form, and show all settings again."""
        try:
            self._sandbox.projects.get(project_id)
            project = self._sandbox.projects.update(project_id, **_changes(request.form))
        except RefusedError as error:
            return page_response(message_page("Not possible", error.text(), TO_OPERATOR), error.status)
        except (ValueError, InvalidOperation) as error:
            text = str(error) if isinstance(error, ValueError) else "A number is required."
            back = (f"/_sandbox/operator/project/{project_id}", f"Back to {project_id}")
            return page_response(message_page("The project refuses this", text, back), 400)
        return page_response(settings_page(project, "Saved."))


def _changes(form: Mapping[str, str]) -> dict[str, Any]:
    changes: dict[str, Any] = {name: form[name].strip() for name in _TEXTS if name in form}
    changes |= {name: form[name] == "yes" for name in _SWITCHES if name in form}
    changes |= {name: form[name] for name in _CHOICES if name in form}
    changes |= {name: kind(_number(form[name])) for name, (_, kind) in _NUMBERS.items() if name in form}
    if _STATUS in form:
        changes[_STATUS] = _whole(_number(form[_STATUS]))
    if _SCHEDULE in form:
        changes[_SCHEDULE] = [_number(text) for text in form[_SCHEDULE].replace(",", " ").split()]
    if form.get(_SECRET):
        changes["secret_key"] = form[_SECRET]
    return changes


def _number(text: str) -> Decimal:
    number = Decimal(text.strip()[:20])
    if not number.is_finite() or not 0 <= number <= 10**9:
        raise ValueError("A number of seconds or attempts is required.")
    return number


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingField:
    """The form field of one setting: a selection if there are `choices`, else a text field."""

    name: str
    label: str
    value: str = ""
    choices: Mapping[str, str] | None = None
    placeholder: str = ""
    inputmode: str = "text"
    required: bool = True


def settings_page(project: SandboxProject, notice: str) -> str:
    """Return the page with every setting that the operator may change."""
    groups = {
        heading: [_field(name, project) for name in names.split()] for heading, names in _GROUPS.items()
    }
    return render("project", project_id=project.project_id, notice=notice, groups=groups)


def _field(name: str, project: SandboxProject) -> SettingField:
    """Return the field of one setting with its present value; a secret is never shown."""
    if name in _TEXTS:
        return SettingField(name=name, label=_TEXTS[name], value=getattr(project, name), required=False)
    if name in _NUMBERS:
        label, value = _NUMBERS[name][0], f"{getattr(project, name):g}"
        return SettingField(name=name, label=label, value=value, inputmode="decimal")
    if name in _CHOICES:
        label, choices = _CHOICES[name]
        return SettingField(name=name, label=label, value=str(getattr(project, name)), choices=choices)
    if name in _SWITCHES:
        label, yes, no = _SWITCHES[name]
        value = "yes" if getattr(project, name) else "no"
        return SettingField(name=name, label=label, value=value, choices={"yes": yes, "no": no})
    label, placeholder = _OTHERS[name]
    value = "" if name == _SECRET else ", ".join(f"{seconds:g}" for seconds in project.retry_schedule)
    return SettingField(name=name, label=label, value=value, placeholder=placeholder, required=False)
