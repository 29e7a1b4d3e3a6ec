"""The demonstration's content: products, a customer and a member of staff."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.contrib.auth.models import User

from example_project.catalogue import GOODS
from example_project.shop.models import Product


@dataclass(frozen=True, kw_only=True)
class Account:
    """A log-in of the demonstration. The password is no secret: the shop listens on this machine alone."""

    username: str
    password: str
    first_name: str
    last_name: str
    staff: bool = False


BUYER = Account(username="robin", password="robin-plays", first_name="Robin", last_name="Vale")
FRIEND = Account(username="juno", password="juno-plays", first_name="Juno", last_name="Marsh")
STAFF = Account(username="sam", password="sam-helps", first_name="Sam", last_name="Archer", staff=True)


def fill() -> None:
    """Make what is missing; run at every start."""
    for good in GOODS:
        fields = asdict(good)
        Product.objects.update_or_create(slug=fields.pop("slug"), defaults=fields)
    for account in (BUYER, FRIEND, STAFF):
        _open(account)


def _open(account: Account) -> None:
    if not User.objects.filter(username=account.username).exists():
        User.objects.create_user(
            account.username,
            f"{account.username}@example.com",
            account.password,
            first_name=account.first_name,
            last_name=account.last_name,
            is_staff=account.staff,
            is_superuser=account.staff,
        )
