"""Django signals whose receivers are known by name, so that another process can run them, hours later.

The name is the ``dispatch_uid`` if that is text, else ``module.qualname``. Lambdas and nested functions have no such name: a
system check refuses them.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import MethodType
from typing import Any, ClassVar, Final, Generic, Literal, NoReturn, TypeAlias

from checkout_integration.signals.arguments import Connection, NamedSignal, R

Receiver = Callable[..., Any]
UndoneWhen: TypeAlias = Literal["completed", "attempted"]
_Undone: TypeAlias = tuple[str, Callable[[], Receiver | None] | None]
LONGEST_NAME: Final = 255
"""The longest name of a receiver that the column of its runs can store."""
LONGEST_CAUSE: Final = 255
LONGEST_WAIT: Final = timedelta(days=366)


class RetryLater(Exception):
    """Raise it in a receiver that cannot do its work yet: it is called again after so many ``seconds``, or a timedelta.

    It is no failure: nothing is counted, logged as an error or reported, and what the receiver has written in the database is
    rolled back.

    Args:
        seconds: how long to wait; it is called earlier where a claim or a link makes it due, and where its patience ends.
        cause: what staff read on the pages of the run and of the order: no personal data, no secret. The first 255 characters
            are stored.

    Raises:
        TypeError: ``seconds`` is no number and no timedelta.
        ValueError: ``seconds`` is not positive, or ``cause`` is empty.

    """

    # For an exception of the shop's own that is derived from this one, and does not call its constructor.
    wait: timedelta = timedelta(minutes=1)
    cause: str = "RetryLater"

    def __init__(self, seconds: float | timedelta, cause: str) -> None:
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        if not isinstance(seconds, (int, float)):
            raise TypeError("RetryLater takes seconds as a number or a timedelta, and a cause in words.")
        if not seconds > 0 or not cause:
            raise ValueError("RetryLater needs positive seconds and a cause.")
        super().__init__(cause)
        self.wait = timedelta(seconds=min(seconds, LONGEST_WAIT.total_seconds()))
        self.cause = cause[:LONGEST_CAUSE]


@dataclass(frozen=True, kw_only=True)
class RetryPlan:
    """When a receiver that failed is called again, and for how long `RetryLater` is no failure.

    Attributes:
        waits: the wait after each failed attempt but the last, after which the run is given up. By default 1, 5 and 15
            minutes, 1, 3, 6 and 12 hours, a day, and a day.
        patience: how long `RetryLater` is no failure, from when it was first raised. By default a week.

    Raises:
        TypeError: a wait, or ``patience``, is no timedelta.
        ValueError: it is negative, or longer than a year.

    """

    waits: Sequence[timedelta] = tuple(
        timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 1440, 1440)
    )
    patience: timedelta = timedelta(days=7)

    def __post_init__(self) -> None:
        """Refuse what a worker could not add to a time: it would find out only when the receiver has failed."""
        for name, each in (*(("wait", each) for each in self.waits), ("patience", self.patience)):
            if not isinstance(each, timedelta):
                raise TypeError(
                    f"Each {name} of a RetryPlan is a timedelta, such as timedelta(seconds=30), not {each!r}."
                )
            if not timedelta(0) <= each <= LONGEST_WAIT:
                raise ValueError(
                    f"Each {name} of a RetryPlan is between zero and {LONGEST_WAIT.days} days, not {each}."
                )

    @property
    def most_attempts(self) -> int:
        """The number of failed attempts after which a run is given up."""
        return len(self.waits) + 1


USUAL: Final = RetryPlan()


class DurableSignal(NamedSignal, Generic[R]):
    """A Django signal that only this app sends; the outbox runs its receivers, one by one.

    ``R`` is the type of its receivers: type checkers refuse others in `connect` and in `receiver`.
    """

    changes: ClassVar[int] = 0
    """How often a receiver of any signal was connected or disconnected in this process."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.problems: dict[str, str] = {}
        self._formerly: dict[str, tuple[str, ...]] = {}
        self._plans: dict[str, RetryPlan] = {}
        # By name and sender, as Django keeps them: a receiver may be connected for one sender after the other.
        self._registry: dict[tuple[str, int], tuple[Callable[[], Receiver | None], object]] = {}
        self._registry_lock = threading.Lock()

    def connect(  # type: ignore[override]  # it takes receivers of this signal only
        self,
        receiver: R,
        sender: object = None,
        weak: bool = True,
        dispatch_uid: object = None,
        *,
        formerly: str | Sequence[str] = (),
        plan: RetryPlan | None = None,
    ) -> None:
        """Connect a receiver; ``weak`` as in Django. A system check reports a receiver that cannot be run later.

        ``formerly``: the name or names that it had before, so that it stays one receiver while processes with the old and
        with the new name work side by side. ``plan``: when it is called again after
        a failure, if not by the usual waits (docs/receivers.md).
        """
        name = receiver_name(receiver, dispatch_uid)
        former = (formerly,) if isinstance(formerly, str) else tuple(formerly)
        named = isinstance(dispatch_uid, str)
        problem = uncallable(receiver) or too_long(name) or (None if named else unnameable(receiver))
        problem = problem or next(filter(None, map(too_long, former)), None)
        with self._registry_lock:
            living = self._living(name)
            if problem is None and living and receiver not in living.values() and not named:
                problem = "another receiver has the same name"
            if problem:
                self.problems[name] = problem
            elif id(sender) not in living:
                reference = _reference(receiver) if weak else lambda: receiver
                self._registry[name, id(sender)] = (reference, sender)
                self._formerly[name], self._plans[name] = former, plan or USUAL
                DurableSignal.changes += 1

    def receiver(
        self,
        *,
        sender: object = None,
        weak: bool = True,
        dispatch_uid: object = None,
        formerly: str | Sequence[str] = (),
        plan: RetryPlan | None = None,
    ) -> Connection[R]:
        """Return a decorator that connects, like Django's ``@receiver``, for which type checkers accept any receiver."""
        names = partial(self.connect, sender=sender, weak=weak, dispatch_uid=dispatch_uid)
        return Connection(partial(names, formerly=formerly, plan=plan))

    def disconnect(
        self, receiver: Receiver | None = None, sender: object = None, dispatch_uid: object = None
    ) -> bool:
        """Disconnect a receiver, by itself or by its ``dispatch_uid``; True when it was connected for this sender."""
        name = receiver_name(receiver, dispatch_uid)
        with self._registry_lock:
            self.problems.pop(name, None)
            if id(sender) not in self._living(name):
                return False
            del self._registry[name, id(sender)]
            DurableSignal.changes += 1
            return True

    def formerly(self, name: str) -> tuple[str, ...]:
        """Return the names that the receiver of this name says it had before, the oldest last."""
        return self._formerly.get(name, ())

    def plan(self, name: str) -> RetryPlan:
        """Return the plan of the receiver of this name; the usual one if it is not connected."""
        return self._plans.get(name) or USUAL

    def connected(self, sender: object = None) -> dict[str, Receiver]:
        """Return the living receivers for this sender, by name."""
        with self._registry_lock:
            living = [(name, reference(), own) for (name, _), (reference, own) in self._registry.items()]
        return {
            name: receiver
            for name, receiver, own_sender in living
            if receiver is not None and (own_sender is None or own_sender is sender)
        }

    def has_listeners(self, sender: object = None) -> bool:
        """Return whether a receiver is connected."""
        return bool(self.connected(sender))

    def send(self, sender: object, **named: object) -> NoReturn:
        """Refuse: the app sends these signals itself, by a message in the transaction that changes state."""
        raise TypeError(
            f"{self.name} is announced by checkout_integration itself; it cannot be sent by hand."
        )

    send_robust = asend = asend_robust = send

    def _living(self, name: str) -> dict[int, Receiver]:
        """Return the living receivers of this name, by the identity of their sender."""
        references = {
            sender: reference for (each, sender), (reference, _) in self._registry.items() if each == name
        }
        return {sender: living for sender, each in references.items() if (living := each()) is not None}


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """The receivers of ``checkout_paid`` that a receiver of ``checkout_reversed`` undoes, by name; none means all of them.

    ``when`` is "completed", or "attempted" if it also undoes receivers that were begun and did not complete.
    """

    names: frozenset[str] = frozenset()
    when: UndoneWhen = "completed"


class ReversalSignal(DurableSignal[R]):
    """A durable signal whose receivers name the receivers that they undo."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._undoing: dict[str, tuple[tuple[_Undone, ...], UndoneWhen]] = {}

    def connect(  # type: ignore[override]  # it takes receivers of this signal only
        self,
        receiver: R,
        sender: object = None,
        weak: bool = True,
        dispatch_uid: object = None,
        *,
        formerly: str | Sequence[str] = (),
        plan: RetryPlan | None = None,
        undoes: Receiver | str | Sequence[Receiver | str] = (),
        when: UndoneWhen = "completed",
    ) -> None:
        """Connect a receiver that revokes the goods which the receivers ``undoes`` of ``checkout_paid`` granted.

        Args:
            receiver: as for any signal.
            sender: as for any signal.
            weak: as for any signal.
            dispatch_uid: as for any signal.
            formerly: as for any signal.
            plan: as for any signal.
            undoes: one receiver or several, as callables or by name. The receiver runs if one of them completed for the
                grant; without ``undoes``, if any receiver of ``checkout_paid`` did.
            when: "attempted" runs it also where one of them was begun and did not complete, for effects outside the database.

        Raises:
            ValueError: ``when`` has another value.

        """
        if when not in ("completed", "attempted"):
            raise ValueError(f'when is "completed" or "attempted", not {when!r}.')
        several = [undoes] if callable(undoes) or isinstance(undoes, str) else list(undoes)
        super().connect(receiver, sender, weak, dispatch_uid, formerly=formerly, plan=plan)
        self._undoing[receiver_name(receiver, dispatch_uid)] = (tuple(map(_undone, several)), when)

    def receiver(
        self,
        *,
        sender: object = None,
        weak: bool = True,
        dispatch_uid: object = None,
        formerly: str | Sequence[str] = (),
        plan: RetryPlan | None = None,
        undoes: Receiver | str | Sequence[Receiver | str] = (),
        when: UndoneWhen = "completed",
    ) -> Connection[R]:
        """Return a decorator that connects a receiver with the receivers that it undoes."""
        names = partial(self.connect, sender=sender, weak=weak, dispatch_uid=dispatch_uid)
        return Connection(partial(names, formerly=formerly, plan=plan, undoes=undoes, when=when))

    def disconnect(
        self, receiver: Receiver | None = None, sender: object = None, dispatch_uid: object = None
    ) -> bool:
        """Disconnect a receiver; if it is connected for no other sender, also remove what it undoes."""
        disconnected = super().disconnect(receiver, sender, dispatch_uid)
        name = receiver_name(receiver, dispatch_uid)
        if not self._living(name):
            self._undoing.pop(name, None)
        return disconnected

    def undoing(self, name: str, connected: Mapping[str, Receiver]) -> Undoing:
        """Return which of the ``connected`` receivers of ``checkout_paid`` the receiver of this name undoes."""
        undone, when = self._undoing.get(name, ((), "completed"))
        names = {
            found for own_name, reference in undone for found in _names_of(own_name, reference, connected)
        }
        return Undoing(names=frozenset(names), when=when)


def _undone(receiver: Receiver | str) -> _Undone:
    """Return the name of an undone receiver, and a weak reference to it if it was given as a callable."""
    if isinstance(receiver, str):
        return receiver, None
    return receiver_name(receiver, None), _reference(receiver)


def _names_of(
    name: str, reference: Callable[[], Receiver | None] | None, connected: Mapping[str, Receiver]
) -> list[str]:
    receiver = reference() if reference else None
    return [each for each, known in connected.items() if receiver is not None and known == receiver] or [name]


def receiver_name(receiver: Receiver | None, dispatch_uid: object) -> str:
    """Return the name under which a receiver's runs are stored."""
    if isinstance(dispatch_uid, str):
        return dispatch_uid
    module = getattr(receiver, "__module__", None) or type(receiver).__module__
    return f"{module}.{getattr(receiver, '__qualname__', None) or type(receiver).__qualname__}"


def uncallable(receiver: object) -> str | None:
    """Return why a receiver cannot be called with a signal's arguments, else None. Django checks this only with DEBUG."""
    if not callable(receiver):
        return "it cannot be called"
    # Not django.utils.inspect, whose cache would hold the receiver: it is referenced weakly.
    kinds = [each.kind for each in inspect.signature(receiver).parameters.values()]
    return None if inspect.Parameter.VAR_KEYWORD in kinds else "it does not accept **kwargs"


def too_long(name: str) -> str | None:
    """Return why runs cannot be stored under a name; None if they can."""
    return None if len(name) <= LONGEST_NAME else f"its name is longer than {LONGEST_NAME} characters"


def unnameable(receiver: Receiver) -> str | None:
    """Return why a receiver has no lasting name; None if it has one."""
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
