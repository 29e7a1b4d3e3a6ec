"""Durable signals: connected as in Django, stored by name, sent by the app alone."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

import pytest
from asgiref.sync import iscoroutinefunction
from django.dispatch import Signal, receiver

from checkout_integration import signals
from checkout_integration.signals import SIGNALS, DurableSignal
from checkout_integration.signals.durable import receiver_name


class Sender:
    """Stands for the model that sends."""


class Other:
    """Stands for another one."""


def grant(**kwargs: Any) -> str:
    """Is a receiver as the README writes it."""
    return "granted"


async def grant_later(**kwargs: Any) -> str:
    """Is one that awaits."""
    return "granted"


class Shop:
    """Has a method that receives."""

    def grant(self, **kwargs: Any) -> str:
        """Is a bound method when connected."""
        return "granted"

    def __call__(self, **kwargs: Any) -> str:
        """Makes an instance a receiver."""
        return "granted"


SHOP = Shop()
HERE = "tests.test_signals"


@pytest.fixture
def signal() -> DurableSignal[Any]:
    """A signal of the test's own."""
    return DurableSignal[Any]("checkout_paid")


def test_a_connected_receiver_is_known_by_its_name(signal: DurableSignal[Any]) -> None:
    """Another process finds it again by module and name."""
    signal.connect(grant)
    assert signal.connected() == {f"{HERE}.grant": grant}
    assert signal.has_listeners()


def test_djangos_decorator_connects(signal: DurableSignal[Any]) -> None:
    """As its documentation shows, with its arguments."""
    assert receiver(signal, sender=Sender, dispatch_uid="grant", weak=False)(grant) is grant
    assert signal.connected(Sender) == {"grant": grant}


def test_djangos_decorator_connects_to_several_signals(signal: DurableSignal[Any]) -> None:
    """A list of signals is decorated at once."""
    second = DurableSignal[Any]("payment_success")
    receiver([signal, second])(grant)
    assert signal.connected() == second.connected() == {f"{HERE}.grant": grant}


@pytest.mark.parametrize("method", ["connect", "disconnect"])
def test_the_arguments_are_those_of_django(method: str) -> None:
    """The same names, order and defaults as in the Django at hand; what we add is given by its name."""
    ours, theirs = (inspect.signature(getattr(each, method)).parameters for each in (DurableSignal, Signal))
    added = {name: p.kind for name, p in ours.items() if name not in theirs}
    shared = [(p.name, p.default) for p in ours.values() if p.name not in added]
    assert shared == [(p.name, p.default) for p in theirs.values()]
    assert added == (
        dict.fromkeys(("formerly", "plan"), inspect.Parameter.KEYWORD_ONLY) if method == "connect" else {}
    )


def test_a_receiver_is_connected_once(signal: DurableSignal[Any]) -> None:
    """A module that is imported twice does not grant twice."""
    signal.connect(grant)
    signal.connect(grant)
    assert list(signal.connected().values()) == [grant]
    assert signal.problems == {}


def test_disconnect(signal: DurableSignal[Any]) -> None:
    """True when it was connected."""
    signal.connect(grant)
    assert signal.disconnect(grant) is True
    assert signal.disconnect(grant) is False
    assert not signal.has_listeners()


def test_disconnect_by_uid(signal: DurableSignal[Any]) -> None:
    """With or without the receiver; without the uid it is another name."""
    signal.connect(grant, dispatch_uid="one")
    assert signal.disconnect(grant) is False
    assert signal.disconnect(dispatch_uid="one") is True
    signal.connect(grant, dispatch_uid="one")
    assert signal.disconnect(grant, dispatch_uid="one") is True


def test_disconnect_asks_for_the_sender(signal: DurableSignal[Any]) -> None:
    """As in Django: a receiver of one sender is disconnected with that sender."""
    signal.connect(grant, sender=Sender)
    assert signal.disconnect(grant) is False
    assert signal.disconnect(grant, sender=Sender) is True


def test_disconnecting_nothing_is_no_error(signal: DurableSignal[Any]) -> None:
    """As in Django."""
    assert signal.disconnect() is False
    assert signal.disconnect(dispatch_uid="unheard of") is False


def test_a_uid_is_the_name(signal: DurableSignal[Any]) -> None:
    """The stored name of its runs survives a move of the code."""
    signal.connect(grant, dispatch_uid="grant-goods")
    assert signal.connected() == {"grant-goods": grant}


def test_the_first_receiver_of_a_uid_stays(signal: DurableSignal[Any]) -> None:
    """As in Django."""
    signal.connect(grant, dispatch_uid="one")
    signal.connect(grant_later, dispatch_uid="one")
    assert signal.connected() == {"one": grant}
    assert signal.problems == {}


def test_a_uid_that_is_no_text_is_no_name(signal: DurableSignal[Any]) -> None:
    """Another process could not recognise a number or an object."""
    signal.connect(grant, dispatch_uid=5)
    assert signal.connected() == {f"{HERE}.grant": grant}


def nested(result: str = "granted") -> Callable[..., str]:
    """Return a receiver that lives no longer than its caller wants."""

    def inner(**kwargs: Any) -> str:
        return result

    return inner


def test_receivers_are_referenced_weakly(signal: DurableSignal[Any]) -> None:
    """As in Django: a receiver without other references is gone."""
    receiver = nested()
    signal.connect(receiver, dispatch_uid="weak")
    assert signal.connected() == {"weak": receiver}
    del receiver
    gc.collect()
    assert signal.connected() == {}
    assert signal.disconnect(dispatch_uid="weak") is False


def test_a_name_that_is_free_again_can_be_taken(signal: DurableSignal[Any]) -> None:
    """A new receiver can take the uid of a receiver that is gone."""
    signal.connect(nested(), dispatch_uid="one")
    gc.collect()
    signal.connect(grant, dispatch_uid="one")
    assert signal.connected() == {"one": grant}


def test_weak_may_be_turned_off(signal: DurableSignal[Any]) -> None:
    """As in Django: the signal itself references the receiver."""
    signal.connect(nested("strong"), weak=False, dispatch_uid="one")
    gc.collect()
    assert signal.connected()["one"]() == "strong"


def test_a_bound_method_lives_as_long_as_its_object(signal: DurableSignal[Any]) -> None:
    """Although the bound method itself is made anew at each look."""
    shop = Shop()
    signal.connect(shop.grant)
    gc.collect()
    assert signal.connected() == {f"{HERE}.Shop.grant": shop.grant}
    del shop
    gc.collect()
    assert signal.connected() == {}


def test_receivers_are_chosen_by_sender(signal: DurableSignal[Any]) -> None:
    """No sender means every sender."""
    signal.connect(grant, dispatch_uid="all")
    signal.connect(grant, sender=Sender, dispatch_uid="one")
    signal.connect(grant, sender=Other, dispatch_uid="other")
    assert set(signal.connected(Sender)) == {"all", "one"}
    assert set(signal.connected(Other)) == {"all", "other"}
    assert set(signal.connected()) == {"all"}


def test_a_sender_without_receivers_has_no_listeners(signal: DurableSignal[Any]) -> None:
    """The system check uses this for the sending model."""
    signal.connect(grant, sender=Other)
    assert signal.has_listeners(Other)
    assert not signal.has_listeners(Sender)
    assert not signal.has_listeners()


@pytest.mark.parametrize("method", ["send", "send_robust", "asend", "asend_robust"])
def test_nobody_else_sends(signal: DurableSignal[Any], method: str) -> None:
    """A signal sent by hand would grant unpaid goods, and would not be stored."""
    signal.connect(grant)
    with pytest.raises(TypeError, match="checkout_paid is announced by checkout_integration itself"):
        getattr(signal, method)(sender=Sender, order=None)


def test_an_async_receiver_is_recognized_as_one(signal: DurableSignal[Any]) -> None:
    """The runner inspects the receiver itself."""
    signal.connect(grant_later)
    signal.connect(grant)
    connected = signal.connected()
    assert iscoroutinefunction(connected[f"{HERE}.grant_later"])
    assert not iscoroutinefunction(connected[f"{HERE}.grant"])
    assert asyncio.run(connected[f"{HERE}.grant_later"]()) == "granted"


@wraps(grant)
def wrapped(*args: Any, **kwargs: Any) -> str:
    """Be a decorated receiver with the name of the wrapped function."""
    return grant(*args, **kwargs)


@pytest.mark.parametrize(
    ("connected", "name"),
    [
        (grant, f"{HERE}.grant"),
        (wrapped, f"{HERE}.grant"),
        (Shop.grant, f"{HERE}.Shop.grant"),
        (SHOP.grant, f"{HERE}.Shop.grant"),
        (SHOP, f"{HERE}.Shop"),
    ],
)
def test_names(connected: Any, name: str) -> None:
    """Module and qualified name."""
    assert receiver_name(connected, None) == name
    assert receiver_name(connected, "uid") == "uid"


def without_kwargs(order: object) -> None:
    """Lack the keyword arguments that Django requires of receivers."""


LATER: list[tuple[Any, str]] = [
    (lambda **kwargs: None, "it is a lambda"),
    (nested(), "it is defined inside a function"),
    (partial(grant, x=1), "it is a partial or an instance"),
    (SHOP, "it is a partial or an instance"),
]


@pytest.mark.parametrize(("nameless", "why"), LATER)
def test_a_receiver_without_a_lasting_name_is_not_connected(
    signal: DurableSignal[Any], nameless: Any, why: str
) -> None:
    """Another process could not find it; the system check refuses it."""
    signal.connect(nameless)
    assert signal.connected() == {}
    (problem,) = signal.problems.values()
    assert problem.startswith(why)


@pytest.mark.parametrize("nameless", [each for each, _ in LATER])
def test_a_uid_gives_a_lasting_name(signal: DurableSignal[Any], nameless: Any) -> None:
    """The text is the shop's promise."""
    signal.connect(nameless, dispatch_uid="mine")
    assert signal.connected() == {"mine": nameless}
    assert signal.problems == {}


@pytest.mark.parametrize("uid", [None, "mine"])
@pytest.mark.parametrize(
    ("useless", "why"), [(without_kwargs, "it does not accept **kwargs"), ("text", "it cannot be called")]
)
def test_what_could_not_be_called_is_not_connected(
    signal: DurableSignal[Any], useless: Any, why: str, uid: str | None
) -> None:
    """It would fail ten times, and be failed."""
    signal.connect(useless, dispatch_uid=uid)
    assert signal.connected() == {}
    assert list(signal.problems.values()) == [why]


def test_a_name_that_does_not_fit_the_column_is_a_problem(signal: DurableSignal[Any]) -> None:
    """It would stop the runs of other receivers too."""
    signal.connect(grant, dispatch_uid="x" * 256)
    assert signal.connected() == {}
    assert list(signal.problems.values()) == ["its name is longer than 255 characters"]


def test_two_receivers_of_one_name_are_a_problem(signal: DurableSignal[Any]) -> None:
    """Their runs could not be distinguished; the first stays connected."""
    signal.connect(grant)
    signal.connect(wrapped)
    assert signal.connected() == {f"{HERE}.grant": grant}
    assert signal.problems == {f"{HERE}.grant": "another receiver has the same name"}


def test_two_receivers_of_one_name_may_have_a_uid(signal: DurableSignal[Any]) -> None:
    """Methods of two instances, for example."""
    first, second = Shop(), Shop()
    signal.connect(first.grant, dispatch_uid="first")
    signal.connect(second.grant, dispatch_uid="second")
    assert signal.connected() == {"first": first.grant, "second": second.grant}


def test_disconnecting_takes_the_problem_away(signal: DurableSignal[Any]) -> None:
    """A test that connected a lambda leaves nothing behind."""
    nameless = LATER[0][0]
    signal.connect(nameless)
    signal.disconnect(nameless)
    assert signal.problems == {}


def documented() -> Iterator[str]:
    """The signals of the module, by their variable names."""
    yield from (name for name, value in vars(signals).items() if isinstance(value, DurableSignal))


def test_every_signal_is_found_by_its_name() -> None:
    """The outbox stores the name."""
    assert {name: SIGNALS[name].name for name in documented()} == {name: name for name in SIGNALS}


def test_one_receiver_for_two_senders(signal: DurableSignal[Any]) -> None:
    """Each sender counts, as in Django; disconnected for one, it stays connected for the other."""
    signal.connect(grant, sender=Other)
    signal.connect(grant, sender=Sender)
    named = {f"{HERE}.grant": grant}
    assert (signal.connected(Sender), signal.connected(Other)) == (named, named)
    assert signal.problems == {}
    assert signal.disconnect(grant, sender=Other)
    assert (signal.connected(Sender), signal.connected(Other)) == (named, {})
