"""Customers of the state machine: personal data in every possible place, and the tables where it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from checkout_integration.models import CheckoutUser
from checkout_integration.protocol.creation import Customer, CustomerAddress
from tests.support.tables import columns_with


@dataclass(eq=False)
class Buyer:
    """A customer; a guest has no id in the shop, and is another customer at each checkout.

    Attributes:
        number: three digits, so that no value of one customer is part of another's.
        account: their account in the shop; its key is their id.
        address_is_id: their id in the shop is their e-mail address, as in many shops.
        service_ids: under which the service knows them.
        erased: their data must not appear anywhere from now on.
    """

    number: int
    account: User | None = None
    address_is_id: bool = False
    service_ids: set[str] = field(default_factory=set)
    erased: bool = False

    @property
    def name(self) -> str:
        """The watch for leaks knows the beginning of it."""
        return f"Ada Lovelace {self.number}"

    @property
    def email(self) -> str:
        """The watch for leaks knows such addresses."""
        return f"player-{self.number}@example.com"

    @property
    def external_id(self) -> str:
        """Under which the shop knows them, "" for a guest."""
        if self.account is not None:
            return str(self.account.pk)
        return self.email if self.address_is_id else ""

    @property
    def as_buyer(self) -> dict[str, Any]:
        """What the shop says about them when it creates a checkout."""
        customer = Customer(
            external_id=self.email if self.address_is_id else None,
            name=self.name,
            email=self.email,
            phone=f"+49309018{self.number}",
            ip=f"203.0.113.{self.number}",
            address=CustomerAddress(city=f"City{self.number}", country="DE"),
        )
        return {"user": self.account, "customer": customer, "metadata": {"buyer": f"note-{self.number}"}}

    @property
    def traces(self) -> set[str]:
        """The columns in which anything of theirs stands."""
        found = columns_with(
            [
                *(self.name, self.email, f"note-{self.number}", f"City{self.number}"),
                *(f"+49309018{self.number}", f"203.0.113.{self.number}", *self.service_ids),
            ]
        )
        known = self.external_id and CheckoutUser.objects.filter(external_id=self.external_id).exists()
        return found | ({"checkout_integration_checkoutuser.external_id"} if known else set())
