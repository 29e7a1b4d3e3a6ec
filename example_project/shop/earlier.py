"""The earlier sales as the shop knows them: players, and checkouts of which it does not know yet what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User

from checkout_integration.flows.ledger import identity_here
from checkout_integration.models import Checkout, Installation
from example_project.catalogue import LASTING
from example_project.earlier_sales import DAYS, End, Sale, players, present, sales
from example_project.shop.models import Product


def fill() -> None:
    """Make what was sold before the first start; run once, on an empty database."""
    User.objects.bulk_create(
        User(
            pk=player.key,
            username=player.username,
            email=player.email,
            first_name=player.first_name,
            last_name=player.last_name,
        )
        for player in players()
        if not player.is_guest
    )
    until = present()
    _open_checkouts(list(sales(until)))
    # What was paid before the installation would be history, for which nothing is granted.
    Installation.objects.create(project="default", installed_at=until - timedelta(days=DAYS + 2))


def _open_checkouts(sold: Sequence[Sale]) -> None:
    products = {product.slug: product for product in Product.objects.all()}
    sold = [sale for sale in sold if sale.end is not End.WITHOUT_CHECKOUT]
    rows = Checkout.objects.bulk_create([_checkout(sale, products.get(sale.slug)) for sale in sold])
    for row, sale in zip(rows, sold, strict=True):
        row.recorded_at = sale.sold_at  # creating a row sets it to now
    Checkout.objects.bulk_update(rows, ["recorded_at"], batch_size=400)


def _checkout(sale: Sale, product: Product | None) -> Checkout:
    checkout = Checkout(
        reference=sale.reference,
        project="default",
        type=sale.kind,
        expected_amount=sale.price,
        currency=sale.currency,
        products=[] if sale.kind == Product.Kind.GEMS else [sale.slug],
        description=sale.described(product.name if product else "Paper moon"),
        test=settings.CHECKOUT_INTEGRATION["ACCEPT_TEST_PAYMENTS"],
        user_id=None if sale.player.is_guest else sale.player.key,
        identity="" if sale.player.is_guest else identity_here(str(sale.player.key)),
        status=Checkout.Status.UNKNOWN,
        # Few, or health would ask why no renewals come.
        lasts_days=LASTING.get(sale.slug) if sale.player.number % 20 == 0 else None,
    )
    if product is not None:
        checkout.subject = product
    return checkout
