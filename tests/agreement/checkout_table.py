"""The checkouts that the specification allows: written by hand, see `table`."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from tests.agreement.parameter import FLAG_BAD, TEXT_BAD, TEXT_GOOD, Parameter

PROJECT: Final = "project-1"
LONG_PROJECT: Final = "p" * 255
TOKEN: Final = "known-token"
LONG_TOKEN: Final = "t" * 50_000
PREPARED: Final = "prepared-order"
ADDRESS_GOOD: Final = (
    "https://shop.example/paid",
    "http://localhost:8000/?a=1#b",
    "https://[::1]/x",
    "HTTPS://Shop.example",
    "https://shop.example:65535/größe",
    "https://shop.example/" + "x" * 2027,
)
ADDRESS_BAD: Final = (
    "/paid",
    "javascript:alert(1)",
    "ftp://shop.example/",
    "https:///nowhere",
    "https://shop.example/a b",
    "https://user:pw@shop.example/",
    "https://evil\\@good.example/",
    "https://shop.example:65536/",
    "https://shop.example:0/",
    "https://1.2.3/",
    "https://[bad/",
    "https://:80[::1]/",
    "https://]x[::1",
    "https://größe.example/",
    "https://shop.example/" + "x" * 2028,
    5,
)

OF_THE_SALE: Final = (
    Parameter(
        name="project",
        statements=("EP1-12", "EP2-03"),
        order="project",
        token="settings.project_id",
        good=(PROJECT, LONG_PROJECT),
        bad=(5, True, ["p"], "p" * 256),
    ),
    Parameter(
        name="type",
        statements=("EP1-19", "EP2-15", "SVC-03"),
        order="type",
        token="settings.type",
        good=("key", "product", "virtual_currency", "simple"),
        bad=("products", "SIMPLE", 5, ["simple"]),
    ),
    Parameter(
        name="amount",
        statements=("EP1-15", "EP2-04", "ORD-22"),
        order="amount",
        token="settings.amount",
        good=tuple(
            map(Decimal, ("1", "0.01", "9.99", "9.9900", "1.234", "1.2345", "0.0001", "1000000000000"))
        ),
        bad=(Decimal(0), Decimal(-1), Decimal("1000000000000.01"), Decimal("1E+15"), "1", "", True, [1], {}),
        empty_is_absent=False,
    ),
    Parameter(
        name="currency",
        statements=("EP1-14", "EP2-05", "ORD-23"),
        order="currency",
        token="settings.currency",
        good=("USD", "JPY", "KWD", "CLF", "XCG", "VED", "XAU"),
        bad=("usd", "ANG", "BGN", "ZZZ", "US", "USDT", "U1D", "ＵＳＤ", 840, ["USD"]),
    ),
    Parameter(
        name="products",
        statements=("EP1-17", "EP2-11", "EP2-18"),
        order="products",
        token="settings.products_ids",
        good=([], ["item-1"], ["item-1", "item-2"], ["x" * 255]),
        bad=("item-1", "", 5, [5], [""], [None], ["x" * 256], {"item-1": "1"}),
        empty_is_absent=False,
    ),
    Parameter(
        name="platform_id",
        statements=("EP1-18", "EP2-16", "ORD-36"),
        order="platform_id",
        token="settings.platform_id",
        good=("steam", "gog", "uplay", "origin", "psn", "xbox", "nintendo", "itch", "egs"),
        bad=("amiga", "Steam", 5, ["steam"]),
    ),
    Parameter(
        name="description",
        statements=("EP1-16", "EP2-07"),
        order="description",
        token="settings.description",
        good=TEXT_GOOD,
        bad=TEXT_BAD,
    ),
    Parameter(
        name="metadata",
        statements=("EP1-22", "EP2-08"),
        order="metadata",
        token="settings.metadata",
        good=({}, {"k": "v"}, {"k": ""}, {"": "v"}, {"k" * 255: "v" * 255}),
        bad=(
            {"k": None},
            {"k": 5},
            {"k": True},
            {"k" * 256: "v"},
            {"k": "v" * 256},
            {"k": ["v"]},
            [["k", "v"]],
            "k",
            "",
        ),
        empty_is_absent=False,
    ),
    Parameter(
        name="account", statements=("EP2-06",), order="account", token="", good=TEXT_GOOD, bad=TEXT_BAD
    ),
    Parameter(
        name="order",
        statements=("EP2-14",),
        order="order",
        token="",
        good=(PREPARED, "x" * 255),
        bad=(5, True, ["x"], "x" * 256),
    ),
    Parameter(
        name="token",
        statements=("EP2-12",),
        order="token",
        token="",
        good=(TOKEN, LONG_TOKEN),
        bad=(5, True, ["x"]),  # whatever the service has issued is a token
    ),
    Parameter(
        name="success",
        statements=("EP1-13", "EP2-09"),
        order="url_success",
        token="settings.return_url.success",
        good=ADDRESS_GOOD,
        bad=ADDRESS_BAD,
    ),
    Parameter(
        name="fail",
        statements=("EP1-13", "EP2-10"),
        order="url_fail",
        token="settings.return_url.fail",
        good=ADDRESS_GOOD,
        bad=ADDRESS_BAD,
    ),
    Parameter(
        name="is_buy_for_virtual_currency",
        statements=("EP1-20",),
        order="",
        token="settings.is_buy_for_virtual_currency",
        good=(True, False),
        bad=FLAG_BAD,
        empty_is_absent=False,
    ),
    Parameter(
        name="button_caption",
        statements=("EP1-21",),
        order="",
        token="settings.button_caption",
        good=("x", "x" * 18),
        bad=(5, True, ["x"], "x" * 19),
    ),
)
