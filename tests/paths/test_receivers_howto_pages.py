"""Pages about receivers, each with its shop: debugging, slow work, refunds, renewals, free items, and moving."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.metadata import distribution
from types import ModuleType
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.management import call_command

from checkout_integration import flows
from checkout_integration.models import Checkout, Grant, Order, ReceiverRun
from checkout_integration.sandbox.scenarios import verbs
from checkout_integration.signals import checkout_paid, checkout_reversed, payment_chargeback, payment_refund
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.testing.service import CheckoutSandbox
from tests.flows.conftest import _not_installed, listen
from tests.paths.test_howto_pages import parsed
from tests.support.documents import block
from tests.support.flows.shop import Failing, Listening

__all__ = ["_not_installed", "listen"]
SIGNALS = (checkout_paid, checkout_reversed, payment_refund, payment_chargeback)


class Noted:
    """A module of the shop that a page imports and does not show: it writes down how it is called."""

    def __init__(self, **answers: Any) -> None:
        """``answers``: what its calls return."""
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers = answers

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the call of this name."""

        def call(*given: Any, **named: Any) -> Any:
            self.calls.append((name, given, named))
            return self.answers.get(name)

        return call

    @property
    def names(self) -> list[str]:
        """Return what was called, in order."""
        return [name for name, _, _ in self.calls]


Page = Callable[..., dict[str, Any]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """Execute a block of a page beside modules of the shop; its receivers are disconnected at the end."""
    before = {signal: set(signal.connected()) for signal in SIGNALS}
    modules_of_the_page: list[ModuleType] = []

    def executed(source: str, **modules: Any) -> dict[str, Any]:
        package = ModuleType("shop")
        for name, module in modules.items():
            setattr(package, name, module)
        monkeypatch.setitem(sys.modules, "shop", package)
        module = ModuleType("shop_page")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        modules_of_the_page.append(module)  # a signal forgets the receivers of a module that is gone
        exec(source, vars(module))
        return vars(module)

    yield executed
    for signal in SIGNALS:
        for name, receiver in signal.connected().items():
            if name not in before[signal]:
                assert signal.disconnect(receiver)


def paid(**terms: Any) -> Order:
    """A payment whose receivers have run."""
    order: Order = OrderFactory(checkout=CheckoutFactory(**terms))
    flows.run_due()
    return order


@pytest.mark.django_db
def test_a_receiver_is_run_again(shown: Page, listen: Listening) -> None:
    """docs/debugging.md: what failed and waits runs at once, and who did it is recorded."""
    grant = Failing(times=1)
    listen(checkout_paid, grant, name="shop.receivers.grant")
    paid()
    assert ReceiverRun.objects.get().state == "due"
    done = shown(block("docs/debugging.md", "# shop/again.py"))["run_again"](
        "shop.receivers.grant", User.objects.create_user("grace")
    )
    assert (done.run, done.failed, ReceiverRun.objects.get().state) == (1, 0, "done")


def test_the_log_says_everything_on_ones_own_machine(settings: Any) -> None:
    """docs/debugging.md: the setting is one, and follows DEBUG."""
    names = {"CHECKOUT_INTEGRATION": dict(settings.CHECKOUT_INTEGRATION), "DEBUG": True}
    exec(block("docs/debugging.md", "# mysite/settings.py, on your own machine"), names)
    assert names["CHECKOUT_INTEGRATION"]["LOG_EXCEPTION_MESSAGES"] is True  # type: ignore[index]
    assert parsed(block("docs/debugging.md", "$ python manage.py checkout_work --once"))["once"] is True


@pytest.mark.django_db
def test_slow_work_is_a_row(shown: Page) -> None:
    """docs/fast-receivers.md: written once, and taken back by its key."""
    parcels = Noted()
    shown(block("docs/fast-receivers.md", "# shop/parcels.py"), parcels=parcels)
    order = paid(user=User.objects.create_user("ada"))
    assert parcels.calls == [("add", (), {"key": Grant.objects.get().key, "account": User.objects.get().pk})]
    flows.operations.revoke_payment(order, staff=None, reason="a test")
    flows.run_due()
    assert parcels.names == ["add", "cancel"]


@pytest.mark.django_db(transaction=True)
def test_money_that_goes_back(shown: Page, checkout_sandbox: CheckoutSandbox, live_server: Any) -> None:
    """docs/refunds.md: each line of its table."""
    wallets, accounting = Noted(), Noted()
    shown(block("docs/refunds.md", "# shop/refunds.py"), wallets=wallets, accounting=accounting)

    def sold() -> str:
        checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
        checkout_sandbox.pay(checkout.order_id)
        flows.run_due()
        return str(checkout.order_id)

    def after(act: Callable[[], None]) -> tuple[list[str], list[str]]:
        wallets.calls.clear()
        accounting.calls.clear()
        act()
        flows.run_due()
        return wallets.names, accounting.names

    first, second = sold(), sold()
    assert after(lambda: checkout_sandbox.refund(first, "4.00")) == ([], ["refunded"])
    assert accounting.calls[0][1][1:] == (Decimal("4.00"), True)
    assert after(lambda: checkout_sandbox.refund(first)) == (["remove"], [])
    assert after(lambda: checkout_sandbox.refund(second)) == (["remove"], ["refunded"])
    third = sold()
    assert after(lambda: checkout_sandbox.chargeback(third)) == (["remove"], ["charged_back"])
    order = Order.objects.get(order_id=third)
    flows.operations.restore_payment(order, staff=User.objects.create_user("grace"), reason="it was won")
    assert after(lambda: None) == (["add"], [])


@pytest.mark.django_db(transaction=True)
def test_a_pass_is_renewed_and_ends(shown: Page, checkout_sandbox: CheckoutSandbox, live_server: Any) -> None:
    """docs/renewals.md: each line of its table, and what the customer reads."""
    mail = Noted()
    shop = shown(block("docs/renewals.md", "# shop/passes.py"), mail=mail)
    about = shown(block("docs/renewals.md", "# shop/pass_page.py"))["about"]
    ada = User.objects.create_user("ada")
    checkout: Checkout = shop["sell_pass"](ada)
    checkout_sandbox.pay(checkout.order_id, recurring=True)
    flows.run_due()
    renewal = checkout_sandbox.renew(checkout.order_id)
    flows.run_due()
    assert [named["renewal"] for _, _, named in mail.calls] == [False, True]
    checkout.refresh_from_db()
    assert shop["may_play"](ada) and about(checkout).startswith("Paid until ")
    checkout_sandbox.renew(checkout.order_id, declined=True)
    checkout_sandbox.refund(renewal)
    flows.run_due()
    assert (shop["may_play"](ada), Grant.objects.filter(closed_at=None).count()) == (True, 1)
    with time_machine.travel(datetime.now(UTC) + timedelta(days=34)):
        assert (shop["may_play"](ada), about(checkout)) == (False, "Your pass has ended.")
    checkout_sandbox.refund(checkout.order_id)
    flows.run_due()
    checkout.refresh_from_db()
    assert (shop["may_play"](ada), about(checkout)) == (False, "Your pass has ended."), (
        "nothing is paid any more"
    )
    User.objects.all().delete()
    passes = Noted()
    vars(passes).update(shop)
    page = shown(block("docs/renewals.md", "# shop/test_passes.py"), passes=passes)
    page["test_a_pass_ends"](checkout_sandbox, live_server, User)


def test_what_a_test_travels_with_is_installed() -> None:
    """docs/renewals.md: by the name that the package has."""
    commands = block(
        "docs/renewals.md",
        '$ python -m pip install "../checkout-integration[sandbox,testing]" time-machine',
    )
    words = shlex.split(commands.partition("\n")[0])
    assert distribution(words[-1]).metadata["Name"] == "time-machine"


@pytest.mark.django_db(transaction=True)
def test_a_free_item_is_given_and_a_cheaper_one_is_sold(
    shown: Page, checkout_sandbox: CheckoutSandbox
) -> None:
    """docs/free-items.md: nothing of the app for the first, a form for the second."""
    inventory = Noted(has=True)
    shop = shown(block("docs/free-items.md", "# shop/giving.py"), inventory=inventory)
    ada = User.objects.create_user("ada")
    with pytest.raises(flows.CreationError):
        flows.create_checkout(amount=Decimal(0), currency="USD", user=ada)
    assert shop["get_hat"](ada, Decimal(0)) == "/inventory/"
    assert (inventory.names, Checkout.objects.count()) == (["give_once"], 0)
    assert shop["get_hat"](ada, Decimal("4.99")) == Checkout.objects.get().payment_form_url
    assert shop["owns_hat"](ada)


@pytest.mark.parametrize(
    "commands",
    [
        block("docs/refunds.md", "$ python manage.py checkout_sandbox do refund last amount=4.00"),
        block("docs/renewals.md", "$ python manage.py checkout_sandbox do pay last recurring=true"),
    ],
)
def test_the_sandbox_knows_the_acts(commands: str) -> None:
    """Each of the commands names one, with an order."""
    for command in commands.splitlines():
        words = shlex.split(command)[3:]
        assert words[:2] == ["checkout_sandbox", "do"] and words[3] == "last"
        assert words[2] in verbs.ACTS


@pytest.mark.django_db
@pytest.mark.parametrize(("delivered", "expected"), [(True, []), (False, ["add"])])
def test_what_the_old_code_has_delivered_is_not_delivered_again(
    delivered: bool, expected: list[str], shown: Page, checkout_deliver: Deliver
) -> None:
    """docs/moving.md: the receivers ask the old sales; what is new is delivered, and each is revoked where it is."""
    wallets, old_sales = Noted(), Noted(delivered=delivered, owns=False)
    shown(block("docs/moving.md", "# shop/receivers.py, after moving"), old_sales=old_sales, wallets=wallets)
    paid(user=User.objects.create_user("ada"), type="product", products=["sword"])
    assert (wallets.names, old_sales.names) == (expected, ["delivered"])
    assert ReceiverRun.objects.get().state == "done"
    assert flows.operations.revoke_payment(Order.objects.get(), staff=None, reason="sold on")
    flows.run_due()
    revoked = (["remove"], []) if expected else ([], ["take_back"])
    assert (wallets.names, old_sales.names) == (expected + revoked[0], ["delivered"] * 2 + revoked[1])


@pytest.mark.django_db
def test_both_know_who_owns_what(shown: Page, checkout_deliver: Deliver) -> None:
    """docs/moving.md: what was bought here is owned, and what the old sales say."""
    paid(user=User.objects.create_user("ada"), type="product", products=["sword"])
    old_sales = Noted(owns=False)
    owns = shown(block("docs/moving.md", "# shop/ownership.py"), old_sales=old_sales)["owns"]
    assert owns(User.objects.get(), "sword") and not owns(User.objects.get(), "shield")


@pytest.mark.django_db
def test_the_command_of_moving_shows_what_it_would_do() -> None:
    """docs/moving.md: with these options."""
    words = shlex.split(
        block(
            "docs/moving.md",
            '$ python manage.py checkout_accept --kind historic --reason "sold by the old shop" --dry-run',
        )
    )
    call_command(*words[3:])
