"""The buttons of an order, on its page and on the list of orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from operator import itemgetter
from typing import Any, Final

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import errors, flows
from checkout_integration.admin.order.decision import (
    NOT_AGAIN,
    about_payment,
    delivering,
    effects_of,
    what_runs,
)
from checkout_integration.admin.order.payment import payment_tables
from checkout_integration.admin.screens.customers import BLOCK, ERASE, EXPORT, LINK, UNBLOCK, UNLINK
from checkout_integration.admin.screens.notifications import (
    application_in_words,
    preview_tables,
    verdict_in_words,
)
from checkout_integration.admin.screens.receiver_runs import RUN_AGAIN, run_state
from checkout_integration.admin.site import labels
from checkout_integration.admin.site.buttons import Button, ConfirmForm, ReasonForm, Refused, choice_of
from checkout_integration.admin.site.labels import Text, label_of
from checkout_integration.admin.site.reasons import reason_label
from checkout_integration.admin.site.values import Value, moment_text, money, short, visible
from checkout_integration.conf import UnknownAlias
from checkout_integration.display import amount_text
from checkout_integration.flows.ledger import ACCEPTABLE, ChangePreview, state_of
from checkout_integration.models import Checkout, Notification, Order, ReceiverRun, StaffAct, Transition
from checkout_integration.models.history import LONGEST_REASON
from checkout_integration.policy.amounts import MONEY_DIGITS, MONEY_PLACES
from checkout_integration.policy.verdict import Verdict, VerdictStatus
from checkout_integration.protocol.vocabulary import OrderStatus, OrderType

WORDS: Final[Mapping[type[errors.CheckoutError], Text]] = {
    errors.InsecureAddress: gettext_lazy("The address of the service in the settings is not secure."),
    errors.ServiceUnreachable: gettext_lazy("There was no connection to the service."),
    errors.DeadlineExceeded: gettext_lazy("The service did not respond in time."),
    errors.ResponseUnreadable: gettext_lazy("The response of the service could not be read."),
    errors.BadCredentials: gettext_lazy("The service refused the project's credentials. Check the settings."),
    errors.TooManyRequests: gettext_lazy("The service refuses further requests for now. Try again later."),
    errors.ServiceFailed: gettext_lazy("The service failed. Try again later."),
}


def failure_in_words(error: errors.CheckoutError) -> Text:
    """Return what went wrong, in a sentence, with the status of the response where there is one."""
    if isinstance(error, errors.ErrorResponse) and not isinstance(error, tuple(WORDS)):
        return _("The service responded with status %(status)d.") % {"status": error.status}
    for kind, sentence in WORDS.items():
        if isinstance(error, kind):
            return sentence
    return _("The request failed (%(error)s).") % {"error": type(error).__name__}


def _or_none(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation that returns None where the ledger refuses it: it decides under its lock."""

    def decide(order: Order, **values: Any) -> Any:
        try:
            return operation(order, **values)
        except ValueError:
            return None

    return decide


def _accept(order: Order, **values: Any) -> ChangePreview:
    return flows.operations.accept_payment(order, **values)


def _with_effects(text: Text, order: Order, changes: Sequence[ChangePreview]) -> str:
    """Return what was done and what runs because of it: the message says what happened."""
    return " ".join(map(str, [text, *what_runs(order, changes)]))


def _revoked(order: Order, changes: Sequence[ChangePreview]) -> str:
    text = _(
        "The goods are revoked. The money stays with the shop: refund at the service if it should go back."
    )
    return _with_effects(text, order, changes)


def _restored(order: Order, change: ChangePreview) -> str:
    before, after = (
        label_of(labels.ORDER_STATUSES, status).text for status in (change.status_before, change.status_after)
    )
    text = _("The payment is restored: %(before)s → %(after)s.") % {"before": before, "after": after}
    return _with_effects(text, order, [change])


LONGEST_CHECK: Final = 5.0
"""Seconds for the service to answer while staff wait."""


def _check(order: Order, *, staff: AbstractBaseUser) -> Text:
    orders = Order.objects.select_related("personal_data").filter(pk=order.pk)
    before = orders.get()
    try:
        found = flows.refresh_order(order, seconds=LONGEST_CHECK)
    except flows.CheckoutError as error:
        text = _("The order could not be fetched from the service. %(why)s") % {
            "why": failure_in_words(error)
        }
        raise Refused(text, stops=True) from None  # fifty orders would each wait for a service that is away
    flows.operations.record_staff_act(StaffAct.Act.CHECK, staff, project=order.project, order=order)
    if not found:
        return _("The service has no such order. Nothing changed.")
    after = orders.get()
    pairs = zip(_shown(before), _shown(after), strict=True)
    steps = [f"{old} → {new}" for old, new in pairs if old != new]
    # Not by its time of change: a later reading of the same state is a change too.
    if not steps and before.whole_document == after.whole_document:
        return _("Order refreshed from the service. Nothing changed.")
    if not steps:
        return _("Order refreshed from the service. Other fields changed, not its status.")
    return _("Order refreshed from the service: %(steps)s.") % {"steps": ", ".join(steps)}


def _shown(order: Order) -> tuple[str, str]:
    """Return an order's status and verdict in words."""
    verdict, reason = label_of(labels.VERDICTS, order.verdict).text, reason_label(order.verdict_reason)
    return str(labels.order_label(state_of(order)).text), f"{verdict} ({reason})" if reason else str(verdict)


class NoteForm(ConfirmForm):
    """A form with the text of a note."""

    text = forms.CharField(
        label=gettext_lazy("Note"),
        max_length=LONGEST_REASON,
        help_text=gettext_lazy(
            "It is stored in the order's history, with your name. Do not write names, addresses or other personal data of "
            "the customer: everybody who may see the order reads it."
        ),
        widget=forms.Textarea(attrs={"rows": 4, "cols": 60}),
    )


def _add_note(order: Order, *, staff: AbstractBaseUser, text: str) -> Text:
    flows.operations.add_note(order, staff=staff, text=text)
    return _("The note is in the timeline. Nothing else changed.")


ACCEPT: Final = Button(
    name="accept",
    label=gettext_lazy("Accept this payment"),
    permission="accept_payment",
    question=gettext_lazy(
        "The payment then counts as one for exactly what was sold. Compare what was paid with what was expected first. To "
        "undo it, revoke the goods."
    ),
    form=ReasonForm,
    offered=lambda order: order.verdict in ACCEPTABLE and state_of(order).stands,
    operation=_or_none(_accept),
    refused=gettext_lazy(
        "Only a paid order can be accepted that is in review, from before the installation, or revoked."
    ),
    done=lambda order, change: _with_effects(_("The payment is accepted."), order, [change]),
    about=about_payment,
    effects=partial(effects_of, act=Transition.Act.ACCEPT),
    instead="bind",
)
REVOKE: Final = Button(
    name="revoke",
    label=gettext_lazy("Revoke the goods"),
    permission="revoke_payment",
    question=gettext_lazy(
        "The goods of this payment are taken from the customer, and the money stays with the shop. No later message of the "
        "service gives them back. To undo it, accept the payment."
    ),
    form=ReasonForm,
    danger=True,
    offered=lambda order: state_of(order).stands and Verdict(VerdictStatus(order.verdict)).pays,
    operation=_or_none(flows.operations.revoke_payment),
    refused=gettext_lazy("Nothing changed: there are no goods of this payment to revoke."),
    done=_revoked,
    about=about_payment,
    effects=partial(effects_of, act=Transition.Act.REVOKE),
)
RESTORE: Final = Button(
    name="restore",
    label=gettext_lazy("Restore this payment"),
    permission="restore_payment",
    question=gettext_lazy(
        "Restore a payment whose money has come back, for example because you won the dispute. This overrules what the "
        "service has sent until now, and the order is paid again."
    ),
    form=ReasonForm,
    danger=True,
    # One that is in review was never granted: to restore it would accept it too.
    offered=lambda order: state_of(order).fully_reversed and Verdict(VerdictStatus(order.verdict)).pays,
    operation=_or_none(flows.operations.restore_payment),
    refused=gettext_lazy(
        "Nothing changed: only a payment that was refunded or charged back can be restored."
    ),
    done=_restored,
    about=about_payment,
    effects=partial(effects_of, act=Transition.Act.RESTORE),
)
CHECK: Final = Button(
    name="check",
    label=gettext_lazy("Check with the service now"),
    permission="check_order",
    question=gettext_lazy(
        "The order is fetched from the service, and its current state is applied as usual."
    ),
    asks=False,
    operation=_check,
)
NOTE: Final = Button(
    name="note",
    label=gettext_lazy("Write a note"),
    permission="add_note",
    question=gettext_lazy("The note is shown in the order's timeline. It changes nothing else."),
    form=NoteForm,
    # Erasing empties the notes there are.
    offered=ERASE.offered,
    operation=_or_none(_add_note),
    refused=gettext_lazy("Nothing changed: the customer of this order was erased."),
)


TYPES: Final = [
    (OrderType.SIMPLE.value, gettext_lazy("simple: an amount")),
    (OrderType.PRODUCT.value, gettext_lazy("products")),
    (OrderType.KEY.value, gettext_lazy("game keys")),
    (OrderType.VIRTUAL_CURRENCY.value, gettext_lazy("virtual currency")),
]


NO_KIND: Final = "none"
NEWEST_LOOKED_AT: Final = 200
"""Checkouts by which the shop's things are known, and their kinds."""
MOST_THINGS: Final = 30
"""Each is read from the shop's own table."""


class CurrencyField(forms.RegexField):
    """A currency in capital letters, however it was typed."""

    def to_python(self, value: Any) -> str:
        """Return the text in capital letters."""
        return str(super().to_python(value)).upper()


class BindForm(ReasonForm):
    """A form for a checkout, by a click or its reference, or for the description of a new one, with a reason."""

    fold_title = gettext_lazy("None of these: describe a new checkout")
    reference = forms.CharField(label=gettext_lazy("Or its reference"), max_length=64, required=False)
    type = forms.ChoiceField(label=gettext_lazy("New checkout: type"), choices=TYPES, required=False)
    amount = forms.DecimalField(
        label=gettext_lazy("New checkout: price"),
        max_digits=MONEY_DIGITS,
        decimal_places=MONEY_PLACES,
        min_value=0,
        required=False,
        help_text=gettext_lazy("The agreed price. Leave it empty if the service sets the price."),
    )
    currency = CurrencyField(
        r"^[A-Z]{3}$",
        label=gettext_lazy("New checkout: currency"),
        required=False,
        help_text=gettext_lazy("Three capital letters, such as USD."),
    )
    description = forms.CharField(
        label=gettext_lazy("New checkout: what was sold"),
        max_length=255,
        required=False,
        help_text=gettext_lazy(
            "In one line. Do not name the customer: this text remains when the customer is erased."
        ),
    )
    subject_id = forms.CharField(
        label=gettext_lazy("New checkout: its id in the shop"), max_length=64, required=False
    )
    other_price = forms.BooleanField(
        label=gettext_lazy("New checkout: the agreed price is not what was paid"), required=False
    )
    for_another = forms.BooleanField(
        label=gettext_lazy("The goods go to somebody else than the customer who paid"), required=False
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the checkouts that the payment may be for, and the shop's own kinds of things that it sells."""
        super().__init__(*args, **kwargs)
        try:
            candidates = flows.operations.checkout_candidates(self.row)
        except UnknownAlias:  # to link it is refused too, and says why
            candidates = []
        choices = [(str(each.checkout.pk), _candidate_text(each)) for each in candidates]
        newest = _newest_with_things(self.row)
        kinds = {
            each.subject_type
            for each in ([each.checkout for each in candidates] or newest)
            if each.subject_type
        }
        if choices:
            self.fields["checkout"] = forms.ChoiceField(
                label=_("The checkout that it is for"),
                choices=[*choices, ("", _("none of these"))],
                required=False,
                widget=forms.RadioSelect,
            )
        things = _things(newest) if kinds else []
        if kinds:
            self.fields["subject_type"] = forms.ChoiceField(
                label=_("New checkout: what it is in the shop"),
                choices=[
                    ("", "–"),
                    *things,
                    *((str(each.pk), _("%(kind)s, by its id") % {"kind": each}) for each in kinds),
                    (NO_KIND, _("nothing of the shop")),
                ],
                required=False,
                help_text=_(
                    "The shop's code may fail if it does not learn this. Here is what was sold more than once; of anything "
                    "else, give the id."
                ),
            )
        else:
            del self.fields["subject_id"]
        if not any(each.verdict.pays for each in candidates):  # a new one is most likely for what was paid
            amount, currency = self.row.amount, self.row.currency
            amount = amount and Decimal(amount_text(amount, currency))
            self.initial.update(type=self.row.type, amount=amount, currency=currency)
            named = [value for value, name in things if name == self.row.product]
            self.initial.update(
                description=self.row.product, subject_type=named[0] if len(named) == 1 else ""
            )
        if not choices:
            self.fold_title = gettext_lazy("Describe a new checkout")
            self.fields["reference"].label = _("Reference of the checkout")
            self.fields["reference"].help_text = _("No checkout of this shop fits.")
        new = ["type", "amount", "currency", "description", "subject_type", "subject_id", "other_price"]
        self.order_fields(["checkout", "reference", "for_another", *new, "reason"])
        self.folded, self.unfolded = new, not choices

    def clean_reference(self) -> str:
        """Refuse a reference that no checkout of the project has."""
        reference = str(self.cleaned_data["reference"])
        if reference and _checkout_of(self.row, reference=reference) is None:
            raise forms.ValidationError(
                _("There is no checkout with this reference in the project of the order.")
            )
        return reference

    def clean(self) -> dict[str, Any]:
        """Refuse a checkout together with a description, one of somebody else, and a description that lacks something."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        amount, currency = values.get("amount"), values.get("currency")
        own = {"amount", "currency", "description"} & set(self.changed_data)
        described = any(values.get(name) not in (None, "") for name in own)
        if values.get("reference") or values.get("checkout") or "reference" in self.errors:
            if described or (values.get("reference") and values.get("checkout")):
                self.add_error("reference", _("Choose a checkout or describe a new one, not both."))
        elif self.errors.keys() & {"amount", "currency"}:
            pass
        elif amount is None and (currency or values.get("type") == OrderType.SIMPLE):
            self.add_error("amount", _("Say which amount was to be paid."))
        elif amount is not None and not currency:
            self.add_error("currency", _("Give amount and currency, or neither."))
        elif amount is not None and not values.get("other_price"):
            self._check_price(amount, str(currency))
        target = _checkout_of(self.row, **_named(values))
        if target and flows.operations.goes_to_another(self.row, target) and not values.get("for_another"):
            whose = {"whose": short(target.user or target.reference)}
            self.add_error(
                "for_another",
                _(
                    "This checkout is %(whose)s's, and the goods go there. If that is meant, tick this box; else choose "
                    "another checkout."
                )
                % whose,
            )
        kind, is_new = values.get("subject_type"), not _named(values) and "reference" not in self.errors
        if kind and kind != NO_KIND:
            values["subject"] = self._subject(values)
        elif is_new and not kind and "subject_type" in self.fields:
            text = _("Choose what it is in the shop, or “nothing of the shop”.")
            self.add_error("subject_type", text)
        return values

    def _check_price(self, amount: Decimal, currency: str) -> None:
        """Refuse a price that the customer has not paid, until somebody says that it is meant: a link cannot be undone."""
        prices = {self.row.amount, self.row.original_amount} - {None}
        if prices and (amount not in prices or currency != self.row.currency):
            values = {"paid": money(self.row.amount, self.row.currency), "price": money(amount, currency)}
            text = _(
                "The customer paid %(paid)s, and you wrote %(price)s. With another price the payment waits in review."
            )
            self.add_error("other_price", text % values)

    def _subject(self, values: Mapping[str, Any]) -> Model | None:
        chosen, _colon, key = str(values["subject_type"]).partition(":")
        kind = ContentType.objects.get_for_id(int(chosen)).model_class()
        try:
            return kind._default_manager.filter(pk=key or values.get("subject_id")).get() if kind else None
        except (ValueError, ValidationError, ObjectDoesNotExist):
            self.add_error("subject_id", _("The shop has nothing with this id."))
        return None


def _newest_with_things(order: Order) -> list[Checkout]:
    newest = Checkout.objects.filter(project=order.project).order_by("-pk")[:NEWEST_LOOKED_AT]
    # Django cannot read a thing of an app that was removed.
    return [
        each
        for each in newest.select_related("subject_type")
        if each.subject_type and each.subject_type.model_class()
    ]


def _things(newest: Sequence[Checkout]) -> list[tuple[str, str]]:
    """Return what was sold more than once, as choices by name: a basket is of one customer, a product of all."""
    sold = Counter((each.subject_type_id, each.subject_id) for each in newest)
    again = [each for each, count in sold.items() if count > 1][:MOST_THINGS]
    first = {(each.subject_type_id, each.subject_id): each for each in newest}
    things = {f"{kind}:{key}": first[kind, key].subject for kind, key in again}
    return sorted(((value, short(thing)) for value, thing in things.items() if thing), key=itemgetter(1))


def _candidate_text(candidate: flows.operations.Candidate) -> str:
    """Return a checkout as a choice: when it was made, what for, for whom, and whether the payment fits."""
    checkout, verdict = candidate.checkout, candidate.verdict
    made = moment_text(checkout.recorded_at)
    what = checkout.description or ", ".join(map(str, checkout.products)) or checkout.reference
    price = money(checkout.expected_amount, checkout.currency)
    whose = _("account %(account)s") % {"account": short(checkout.user)} if checkout.user else _("a guest")
    if checkout.user or checkout.identity:
        relation = _("another customer") if candidate.is_another else _("this customer")
        whose = f"{whose}, {relation}"
    fits = _("fits") if verdict.pays else _("does not fit: %(why)s") % {"why": reason_label(verdict.reason)}
    return f"{made} · {short(what)} · {price} · {whose} · {fits}"


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return by what a form names a checkout; nothing where it describes a new one."""
    named = {"pk": values.get("checkout"), "reference": values.get("reference")}
    return {name: value for name, value in named.items() if value}


def _checkout_of(order: Order, **named: Any) -> Checkout | None:
    return Checkout.objects.filter(project=order.project, **named).first() if named else None


def _bind(order: Order, *, staff: AbstractBaseUser, reason: str, **values: Any) -> Text:
    named = _named(values)
    names = ("type", "amount", "currency", "description")
    described = flows.operations.CheckoutDescription(
        **{name: values[name] for name in names}, subject=values.get("subject")
    )
    target = _checkout_of(order, **named) if named else described
    try:
        if target is None:
            raise ValueError(_("The checkout is gone."))
        change = flows.operations.bind_order(order, to=target, staff=staff, reason=reason)
    except ValueError as error:
        raise Refused(str(error)) from None
    text = _("The payment is linked to checkout %(checkout)s: %(verdict)s.") % {
        "checkout": change.checkout,
        "verdict": verdict_in_words(change.verdict_after),
    }
    return _with_effects(text, order, [change])


def _effects_of_linking(order: Order) -> list[Text]:
    if order.verdict == VerdictStatus.ACCEPTED:
        return [NOT_AGAIN]
    account = order.user.account if order.user else None
    whose = _("A new checkout belongs to the account %(account)s.") % {"account": short(account)}
    return [
        " ".join(
            [_("If the payment is for exactly this checkout, it counts."), *map(str, delivering(bound=True))]
        ),
        _("If it is not, it waits in review, and nothing is delivered until somebody accepts it."),
        whose if account else _("A new checkout belongs to nobody: the customer is linked to no account."),
    ]


BIND: Final = Button(
    name="bind",
    label=gettext_lazy("Link to a checkout"),
    permission="bind_order",
    question=gettext_lazy("Choose the checkout that this payment is for, or describe what was sold."),
    form=BindForm,
    offered=lambda order: order.checkout_id is None,
    operation=_bind,
    about=about_payment,
    effects=_effects_of_linking,
)


def run_text(run: ReceiverRun) -> str:
    """Return a run as a choice: its receiver, signal and state, with its attempts and last error."""
    parts = [f"{visible(run.receiver)} ({run.message.signal}): {run_state(run).text}"]
    if run.is_postponed:
        parts.append(_("waits for: %(cause)s") % {"cause": visible(run.postponed_for)})
    if run.attempts:
        parts.append(_("attempts: %(n)d") % {"n": run.attempts})
    if run.error:
        parts.append(_("last error: %(error)s") % {"error": visible(run.error)})
    return ", ".join(parts)


def retry_runs(runs: Iterable[ReceiverRun], staff: AbstractBaseUser) -> str:
    """Make runs due now; return in words what changed, or that nothing did."""
    due = [visible(run.receiver) for run in runs if flows.operations.retry_run(run, staff=staff)]
    if not due:
        return ""
    return _("This code of the shop runs again now: %(receivers)s.") % {"receivers": ", ".join(due)}


def _runs_field(runs: QuerySet[ReceiverRun], *, many: bool = False) -> forms.Field:
    return choice_of(runs.select_related("message"), run_text, _("Code of the shop"), many=many)


def _mark(order: Order, *, staff: AbstractBaseUser, run: ReceiverRun, reason: str) -> Text:
    if not flows.operations.mark_granted(run, staff=staff, reason=reason):
        raise Refused(_("Nothing changed: this code is running or done, or the payment was reversed."))
    return _("Marked as delivered by hand: %(receiver)s. It does not run any more.") % {
        "receiver": visible(run.receiver)
    }


RUN: Final = Button(
    name="run",
    label=gettext_lazy("Run the shop's code now"),
    # The screen of runs is read-only, so Django's own permission to change a run means this and nothing else.
    permission="change_receiverrun",
    question=RUN_AGAIN.question,
    fields=lambda order: {"runs": _runs_field(flows.operations.retryable_runs([order]), many=True)},
    offered=lambda order: flows.operations.retryable_runs([order]).exists(),
    operation=lambda order, staff, runs: retry_runs(runs, staff) or None,
    refused=RUN_AGAIN.refused,
)
MARK_GRANTED: Final = Button(
    name="mark-granted",
    label=gettext_lazy("Mark as delivered"),
    permission="mark_granted",
    question=gettext_lazy(
        "You have delivered by hand what this code of the shop should deliver. It counts as done, and does not run any more. "
        "If the payment is refunded or charged back, the goods are taken back as usual."
    ),
    form=ReasonForm,
    fields=lambda order: {"run": _runs_field(flows.operations.markable_runs(order))},
    offered=lambda order: flows.operations.markable_runs(order).exists(),
    operation=_mark,
    about=about_payment,
)


NEWEST: Final = 10
"""Notifications that the page previews and offers."""


def _text(row: Notification) -> str:
    return f"{visible(str(row))}: {label_of(labels.NOTIFICATION_STATES, row.state).text}"


def _newest(order: Order) -> list[Notification]:
    return list(flows.operations.notifications_of(order).defer("body")[:NEWEST])


def _apply(order: Order, *, staff: AbstractBaseUser, notification: Notification) -> Text:
    try:
        application = flows.operations.apply_notification(notification, staff=staff, again=True)
    except flows.operations.NotApplicable as error:
        raise Refused(_("Nothing changed. %(why)s") % {"why": error}) from None
    if not application.applied:
        why = application_in_words(application)
        raise Refused(_("Nothing changed: it could not be applied. %(why)s") % {"why": why})
    if not application.changes:
        return _("Applied. Nothing changed.")
    return _("Applied. %(what)s") % {"what": application_in_words(application)}


APPLY_AGAIN: Final = Button(
    name="apply",
    label=gettext_lazy("Apply a notification again"),
    permission="apply_notification",
    question=gettext_lazy(
        "The notification is applied as if it had just arrived, at the current time. The table shows what each notification "
        "would change by itself. Most were applied before and change nothing. No goods are granted twice."
    ),
    fields=lambda order: {"notification": choice_of(_newest(order), _text, _("Notification"))},
    offered=lambda order: flows.operations.notifications_of(order).exists(),
    operation=_apply,
    preview=lambda orders: preview_tables(_newest(orders[0])),
)


def _failing_runs(orders: Sequence[Order]) -> QuerySet[ReceiverRun]:
    """Return the runs that have failed, and were given up or wait for their next attempt."""
    runs = flows.operations.retryable_runs(orders).exclude(state=ReceiverRun.State.SUPERSEDED)
    return runs.filter(attempts__gt=0).select_related("message__grant")


def _failing(orders: Sequence[Order]) -> dict[int, Value]:
    receivers: dict[int, list[str]] = {}
    for run in _failing_runs(orders):
        assert run.message.payer_id is not None  # it was found by its order
        receivers.setdefault(run.message.payer_id, []).append(visible(run.receiver))
    return {order: ", ".join(names) for order, names in receivers.items()}


def _with_failing_runs(orders: Sequence[Order]) -> list[Order]:
    failing = _failing(orders)
    return [order for order in orders if order.pk in failing]


def _of_customer(button: Button, offered: Callable[[Order], bool] = lambda order: True) -> Button:
    """Return a customer's button for the page of an order that has a customer."""
    return replace(
        button,
        offered=lambda order: order.user is not None and offered(order) and button.offered(order.user),
        operation=lambda order, **values: button.operation(order.user, **values),
        done=lambda order, result: button.done(order.user, result),
        effects=lambda order: button.effects(order.user),
        preview=lambda orders: button.preview([order.user for order in orders]),
    )


BUTTONS: Final = (
    *(CHECK, NOTE, RUN, BIND, ACCEPT, MARK_GRANTED, APPLY_AGAIN),
    *map(_of_customer, (LINK, UNLINK)),
    _of_customer(BLOCK, offered=lambda order: order.status == OrderStatus.CHARGEBACK),
    *(_of_customer(UNBLOCK), EXPORT, REVOKE, RESTORE, ERASE),
)
"""Of an order's page, in their sequence."""
CHECK_SELECTED: Final = replace(
    CHECK,
    name="check_selected",
    label=gettext_lazy("Check the selected orders with the service now"),
    question=gettext_lazy(
        "Each order is fetched from the service, and its current state is applied as usual."
    ),
    preview=lambda orders: payment_tables(
        orders, _("project"), {order.pk: visible(order.project) for order in orders}
    ),
)
RUN_SELECTED: Final = replace(
    RUN,
    name="run_selected",
    label=gettext_lazy("Run what failed for the selected orders again"),
    chosen=_with_failing_runs,
    operation=lambda order, staff: retry_runs(_failing_runs([order]), staff),
    refused="",
    preview=lambda orders: payment_tables(orders, _("code of the shop"), _failing(orders)),
)
