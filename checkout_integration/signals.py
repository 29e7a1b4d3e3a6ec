"""Signals whose receivers run after commit, each exactly once for its effects in this database (G4).

Connect as usual::

    from django.dispatch import receiver
    from checkout_integration.signals import checkout_paid

    @receiver(checkout_paid)
    def grant_items(order, checkout, **kwargs): ...

A receiver is remembered by name (its ``dispatch_uid`` if that is text, else ``module.qualname``), so that a delivery can be
run by another process, hours later. Lambdas and nested functions have no such name: a system check refuses them.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MethodType
from typing import Any, Final, Literal, NoReturn, TypeAlias

from django.dispatch import Signal

Receiver = Callable[..., Any]
UndoneWhen: TypeAlias = Literal["completed", "attempted"]
_Undone: TypeAlias = tuple[str, Callable[[], Receiver | None] | None]
LONGEST_NAME: Final = 255
"""Of a receiver: what the column of its deliveries takes."""


class DurableSignal(Signal):
    """A Django signal that is announced by the ledger and delivered from the outbox, receiver by receiver."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.problems: dict[str, str] = {}
        # By name and sender, as Django keeps them: a receiver may be connected for one sender after the other.
        self._registry: dict[tuple[str, int], tuple[Callable[[], Receiver | None], object]] = {}
        self._registry_lock = threading.Lock()

    def connect(
        self, receiver: Receiver, sender: object = None, weak: bool = True, dispatch_uid: object = None
    ) -> None:
        """Connects a receiver; ``weak`` as in Django. What cannot be run later is kept for the system check to refuse."""
        name = receiver_name(receiver, dispatch_uid)
        named = isinstance(dispatch_uid, str)
        problem = uncallable(receiver) or too_long(name) or (None if named else unnameable(receiver))
        with self._registry_lock:
            held = self._held(name)
            if problem is None and held and receiver not in held.values() and not named:
                problem = "another receiver has the same name"
            if problem:
                self.problems[name] = problem
            elif id(sender) not in held:
                reference = _reference(receiver) if weak else partial(_itself, receiver)
                self._registry[name, id(sender)] = (reference, sender)

    def disconnect(
        self, receiver: Receiver | None = None, sender: object = None, dispatch_uid: object = None
    ) -> bool:
        """Disconnects a receiver, by itself or by its ``dispatch_uid``; True when it was connected for this sender."""
        name = receiver_name(receiver, dispatch_uid)
        with self._registry_lock:
            self.problems.pop(name, None)
            if id(sender) not in self._held(name):
                return False
            del self._registry[name, id(sender)]
            return True

    def connected(self, sender: object = None) -> dict[str, Receiver]:
        """Living receivers for this sender, by name."""
        with self._registry_lock:
            living = [
                (name, reference(), wanted) for (name, _), (reference, wanted) in self._registry.items()
            ]
        return {
            name: receiver
            for name, receiver, wanted in living
            if receiver is not None and (wanted is None or wanted is sender)
        }

    def has_listeners(self, sender: object = None) -> bool:
        """Whether anyone is connected."""
        return bool(self.connected(sender))

    def send(self, sender: object, **named: object) -> NoReturn:
        """Refused: these signals are announced by the app, in the transaction that changes state."""
        raise TypeError(
            f"{self.name} is announced by checkout_integration itself; it cannot be sent by hand."
        )

    send_robust = asend = asend_robust = send

    def _held(self, name: str) -> dict[int, Receiver]:
        """Living receivers of this name, by the identity of their sender."""
        references = {
            sender: reference for (each, sender), (reference, _) in self._registry.items() if each == name
        }
        return {sender: held for sender, reference in references.items() if (held := reference()) is not None}


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """What a receiver of ``checkout_reversed`` undoes: receivers of ``checkout_paid`` by name; none stands for all of them.

    ``when`` is "completed", or "attempted" where it undoes also what was begun and not completed.
    """

    names: frozenset[str] = frozenset()
    when: UndoneWhen = "completed"


class ReversalSignal(DurableSignal):
    """A durable signal whose receivers say what they undo."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._undoing: dict[str, tuple[tuple[_Undone, ...], UndoneWhen]] = {}

    def connect(
        self,
        receiver: Receiver,
        sender: object = None,
        weak: bool = True,
        dispatch_uid: object = None,
        undoes: Receiver | str | Sequence[Receiver | str] = (),
        when: UndoneWhen = "completed",
    ) -> None:
        """Connect a receiver that revokes what the receivers ``undoes`` of ``checkout_paid`` granted.

        Args:
            receiver: as for any signal.
            sender: as for any signal.
            weak: as for any signal.
            dispatch_uid: as for any signal.
            undoes: one receiver or several, as callables or by name. The receiver runs if one of them completed for the
                grant; without ``undoes``, if any receiver of ``checkout_paid`` did.
            when: "attempted" runs it also where one of them was begun and did not complete, for effects outside the database.

        Raises:
            ValueError: ``when`` is another word.

        """
        if when not in ("completed", "attempted"):
            raise ValueError(f'when is "completed" or "attempted", not {when!r}.')
        several = [undoes] if callable(undoes) or isinstance(undoes, str) else list(undoes)
        super().connect(receiver, sender, weak, dispatch_uid)
        self._undoing[receiver_name(receiver, dispatch_uid)] = (tuple(map(_undone, several)), when)

    def disconnect(
        self, receiver: Receiver | None = None, sender: object = None, dispatch_uid: object = None
    ) -> bool:
        """Disconnect a receiver, and forget what it undoes where it is connected for no other sender."""
        disconnected = super().disconnect(receiver, sender, dispatch_uid)
        name = receiver_name(receiver, dispatch_uid)
        if not self._held(name):
            self._undoing.pop(name, None)
        return disconnected

    def undoing(self, name: str, connected: Mapping[str, Receiver]) -> Undoing:
        """Return what the receiver of this name undoes, of the receivers of ``checkout_paid`` that are ``connected``."""
        undone, when = self._undoing.get(name, ((), "completed"))
        names = {
            found for own_name, reference in undone for found in _names_of(own_name, reference, connected)
        }
        return Undoing(names=frozenset(names), when=when)


def _undone(receiver: Receiver | str) -> _Undone:
    """Return the name of what is undone, and a weak reference to it where it was given as a callable."""
    if isinstance(receiver, str):
        return receiver, None
    return receiver_name(receiver, None), _reference(receiver)


def _names_of(
    name: str, reference: Callable[[], Receiver | None] | None, connected: Mapping[str, Receiver]
) -> list[str]:
    receiver = reference() if reference else None
    return [each for each, known in connected.items() if receiver is not None and known == receiver] or [name]


def receiver_name(receiver: Receiver | None, dispatch_uid: object) -> str:
    """The name by which a receiver's deliveries are kept."""
    if isinstance(dispatch_uid, str):
        return dispatch_uid
    module = getattr(receiver, "__module__", None) or type(receiver).__module__
    return f"{module}.{getattr(receiver, '__qualname__', None) or type(receiver).__qualname__}"


def uncallable(receiver: object) -> str | None:
    """Why a receiver could not be called as signals are, None when it can; Django itself asks this only with DEBUG."""
    if not callable(receiver):
        return "it cannot be called"
    # Not django.utils.inspect, whose cache would hold the receiver: it is referenced weakly.
    kinds = [each.kind for each in inspect.signature(receiver).parameters.values()]
    return None if inspect.Parameter.VAR_KEYWORD in kinds else "it does not accept **kwargs"


def too_long(name: str) -> str | None:
    """Why deliveries cannot be kept under a name, None when they can."""
    return None if len(name) <= LONGEST_NAME else f"its name is longer than {LONGEST_NAME} characters"


def unnameable(receiver: Receiver) -> str | None:
    """Why a receiver has no lasting name, None when it has one."""
    qualname = getattr(receiver, "__qualname__", None)
    if qualname is None:
        return "it is a partial or an instance, which has no name of its own"
    if "<lambda>" in qualname:
        return "it is a lambda"
    if "<locals>" in qualname:
        return "it is defined inside a function"
    return None


def _reference(receiver: Receiver) -> Callable[[], Receiver | None]:
    return weakref.WeakMethod(receiver) if isinstance(receiver, MethodType) else weakref.ref(receiver)


def _itself(receiver: Receiver) -> Receiver:
    return receiver


payment_success: Final = DurableSignal("payment_success")
"""The service said payment.success: a fact, bound or not, live or test. Once per order."""

payment_refund: Final = DurableSignal("payment_refund")
"""The service said payment.refund. Once per order."""

payment_chargeback: Final = DurableSignal("payment_chargeback")
"""The service said payment.chargeback. Once per order."""

payment_cancel: Final = DurableSignal("payment_cancel")
"""The service said payment.cancel. Once per order."""

checkout_paid: Final = DurableSignal("checkout_paid")
"""A checkout of this shop is paid, and the verdict is verified or accepted: **grant goods here**.

Sent once for each `Grant` that is opened: one for a checkout, one for each renewal, one for an accepted order without a
checkout, for which ``checkout`` is None. ``order`` is the one that pays when the receiver runs.
"""

checkout_reversed: Final = ReversalSignal("checkout_reversed")
"""No payment for the grant stands any more: **revoke goods here**. Once for each `Grant` that is closed.

Say which receiver of ``checkout_paid`` yours undoes, ``@receiver(checkout_reversed, undoes=grant_items)``: it runs only where
that one completed for this grant.
"""

payment_review: Final = DurableSignal("payment_review")
"""A success that could not be verified, a second payment, a contradiction: staff should look. Once per order and reason."""

order_changed: Final = DurableSignal("order_changed")
"""The displayed status of an order changed. Once per transition."""

user_validated: Final = DurableSignal("user_validated")
"""A pre-approval decision was made. Once per decision."""

SIGNALS: Final[Mapping[str, DurableSignal]] = {
    signal.name: signal
    for signal in (
        payment_success,
        payment_refund,
        payment_chargeback,
        payment_cancel,
        checkout_paid,
        checkout_reversed,
        payment_review,
        order_changed,
        user_validated,
    )
}
