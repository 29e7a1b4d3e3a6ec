"""The operator's page at /_sandbox/: orders with their buttons, projects, the clock, the run log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from markupsafe import Markup
from werkzeug.routing import Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol.vocabulary import OrderStatus, WebhookMode
from checkout_integration.sandbox.currencies import display_money
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.form_pages import message_page
from checkout_integration.sandbox.moments import write_moment
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.outgoing import Delivery
from checkout_integration.sandbox.pages import fill, joined, page
from checkout_integration.sandbox.run_log import Entry
from checkout_integration.sandbox.wire import page_answer

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox

_SHOWN: Final = 50
_COLUMNS: Final = ("Order", "Made", "For", "Amount", "Status", "Told", "Do")
_TONES: Final = {OrderStatus.PROCESSED: "good", OrderStatus.CREATED: "open", OrderStatus.PENDING: "open"}
_BUTTONS: Final = {
    OrderStatus.CREATED: ["pay", "decline", "cancel", "expire"],
    OrderStatus.PROCESSED: ["refund", "chargeback", "resend"],
}


class OperatorPage:
    """The operator's HTML pages."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule("/_sandbox/", methods=["GET"], endpoint=self.show),
            Rule("/_sandbox/operator/clock", methods=["POST"], endpoint=self.advance),
            Rule("/_sandbox/operator/project/<project_id>", methods=["POST"], endpoint=self.switch),
            Rule("/_sandbox/operator/<order_id>/<action>", methods=["POST"], endpoint=self.act),
        ]

    def show(self, request: Request) -> Response:
        """Show everything."""
        sandbox = self._sandbox
        content = fill(
            "operator",
            profile=sandbox.profile.name,
            now=write_moment(sandbox.clock.now().replace(microsecond=0)),
            projects=joined([self._project(project.project_id) for project in sandbox.projects.all()]),
            orders=self._orders(),
            log=_log(sandbox.log.entries()[-_SHOWN:][::-1]),
        )
        return page_answer(page("Operator", content, width="wide"))

    def advance(self, request: Request) -> Response:
        """Move the clock."""
        seconds = request.form.get("advance", "")
        self._sandbox.clock.advance(float(seconds) if seconds.isdigit() else 0)
        return _back()

    def switch(self, request: Request, project_id: str) -> Response:
        """Switch the webhook mode of a project."""
        mode = request.form.get("mode", "")
        if mode in set(WebhookMode) and self._sandbox.projects.find(project_id):
            self._sandbox.projects.update(project_id, mode=WebhookMode(mode))
        return _back()

    def act(self, request: Request, order_id: str, action: str) -> Response:
        """Press one of an order's buttons."""
        payments = self._sandbox.payments
        actions: dict[str, Callable[[str], object]] = {
            "pay": payments.pay,
            "decline": payments.decline,
            "cancel": payments.cancel,
            "expire": payments.expire,
            "refund": payments.refund,
            "chargeback": payments.chargeback,
            "resend": payments.resend,
        }
        if action not in actions:
            return page_answer(message_page("No such action", "Go back to the operator's page."), 404)
        try:
            actions[action](order_id)
        except RefusedError as error:
            return page_answer(message_page("Not possible", error.message), error.status)
        self._sandbox.wait_idle(2.0)  # so that the page that follows shows the answer
        return _back()

    def _project(self, project_id: str) -> Markup:
        project = self._sandbox.projects.find(project_id)
        if project is None:
            return Markup()
        options = [
            Markup('<option value="{}"{}>{}</option>').format(
                mode, Markup(" selected") if mode == project.mode else "", mode.replace("_", "-")
            )
            for mode in WebhookMode
        ]
        return fill(
            "project",
            project_id=project_id,
            webhook_url=project.webhook_url or "nowhere",
            modes=joined(options),
        )

    def _orders(self) -> Markup:
        count, orders = self._sandbox.ledger.newest(_SHOWN)
        if not orders:
            return Markup(
                '<p class="soft">No orders yet: create one with POST /api/v1/order, or from the shop.</p>'
            )
        head = joined([Markup("<th>{}</th>").format(each) for each in _COLUMNS])
        rows = joined([self._row(order) for order in orders])
        note = Markup('<p class="soft">{} orders in all</p>').format(count)
        table = Markup('<div class="scroll"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>')
        return table.format(head, rows) + note

    def _row(self, order: Order) -> Markup:
        deliveries = self._sandbox.outgoing.of_order(order.id)
        names = [] if order.reversal else list(_BUTTONS.get(order.status, ["resend"]))
        if not deliveries and "resend" in names:
            names.remove("resend")
        link = Markup('<a href="{}"><code>{}</code></a>').format(f"/form/?order_id={order.id}", order.id[:8])
        return Markup(
            '<tr><td>{}</td><td class="number">{}</td><td>{}</td><td class="number">{}</td>'
            '<td><span class="badge {}">{}</span></td><td>{}</td><td><div class="actions">{}</div></td></tr>'
        ).format(
            Markup("<code>{}</code><br><span class=soft>list item</span>").format(order.id[:8])
            if order.reversal
            else link,
            order.created_at.strftime("%d %b %H:%M:%S"),
            order.description if len(order.description) < 60 else order.description[:57] + "…",
            display_money(order.amount, order.currency),
            _TONES.get(order.status, "bad"),
            order.status,
            joined([_told(delivery) for delivery in deliveries]),
            joined([_button(order.id, name) for name in names]),
        )


def _button(order_id: str, action: str) -> Markup:
    return Markup(
        '<form method="post" action="/_sandbox/operator/{}/{}"><button class="small" type="submit">{}</button></form>'
    ).format(order_id, action, action.capitalize())


def _told(delivery: Delivery) -> Markup:
    text = f"{delivery.event}: {delivery.state}"
    if delivery.answer is not None:
        text += f" ({delivery.answer or 'no answer'}, try {delivery.delivery_try})"
    return Markup("<div>{}</div>").format(text)


def _log(entries: list[Entry]) -> Markup:
    if not entries:
        return Markup('<p class="soft">Nothing was asked or sent yet.</p>')
    return joined([_entry(entry) for entry in entries])


def _entry(entry: Entry) -> Markup:
    good = 200 <= entry.status < 400
    arrow = "→ merchant" if entry.direction == "out" else "← request"
    bodies = joined([Markup("<pre>{}</pre>").format(text) for text in (entry.request, entry.answer) if text])
    return Markup(
        '<details><summary><code>{}</code> <span class="soft">{}</span> {} <code>{}</code> '
        '<span class="badge {}">{}</span> <span class="soft">{}</span></summary>{}</details>'
    ).format(
        entry.at[11:19],
        arrow,
        entry.method,
        entry.url,
        "good" if good else "bad",
        entry.status or "no answer",
        entry.note,
        bodies,
    )


def _back() -> Response:
    return redirect("/_sandbox/", 303)
