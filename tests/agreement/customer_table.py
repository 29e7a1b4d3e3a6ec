"""What the specification allows of a customer: by hand, see `table`."""

from __future__ import annotations

from typing import Final

from tests.agreement.parameter import FLAG_BAD, OBJECT_BAD, TEXT_BAD, TEXT_GOOD, Parameter

OF_THE_CUSTOMER: Final = (
    Parameter(
        name="customer_id",
        statements=("EP1-04", "EP2-13"),
        order="user.external_id",
        token="user.id",
        good=TEXT_GOOD,
        bad=TEXT_BAD,
    ),
    Parameter(
        name="email",
        statements=("EP1-05", "EP2-13"),
        order="user.email",
        token="user.email.value",
        good=TEXT_GOOD,
        bad=TEXT_BAD,
    ),
    Parameter(
        name="email_verified",
        statements=("EP1-05", "EP2-13"),
        order="user.email_verified",
        token="user.email.verified",
        good=(True, False),
        bad=FLAG_BAD,
        empty_is_absent=False,
    ),
    Parameter(
        name="phone",
        statements=("EP1-06", "EP2-13"),
        order="user.phone",
        token="user.phone.value",
        good=TEXT_GOOD,
        bad=TEXT_BAD,
    ),
    Parameter(
        name="phone_verified",
        statements=("EP1-06", "EP2-13"),
        order="user.phone_verified",
        token="user.phone.verified",
        good=(True, False),
        bad=FLAG_BAD,
        empty_is_absent=False,
    ),
    Parameter(
        name="name",
        statements=("EP1-07", "EP2-13"),
        order="user.name",
        token="user.name.value",
        good=TEXT_GOOD,
        bad=TEXT_BAD,
    ),
    Parameter(
        name="ip",
        statements=("EP1-08", "EP2-13"),
        order="user.ip",
        token="user.ip.value",
        good=("192.0.2.7", "2001:db8::1"),
        bad=("999.1.1.1", "192.0.2", "192.0.2.7/24", "::1/128", "localhost", 5, ["192.0.2.7"]),
    ),
    Parameter(
        name="token_locale",
        statements=("EP1-09",),
        order="",
        token="user.locale.value",
        good=(
            "de-DE",
            "en;q=0.5",
            "*;q=1",
            "de-DE;q=1.000",
            "de-DE;q=0.999",
            "de-DE, en;q=0.8",
            "zh-Hant-TW",
            "de-DE" + ",de-DE" * 41 + ",d-D",
        ),
        bad=(
            "!!!!!",
            "de_DE",
            "de-DE;q=2",
            "de-DE;q=1.5",
            "de-DE;q=1.001",
            "de-DE;q=0.1234",
            "de-DE,,en",
            "de-DE" + ",de-DE" * 41 + ",de-D",
            5,
            ["de-DE"],
        ),
    ),
    Parameter(
        name="order_locale",
        statements=("EP2-13",),
        order="user.locale",
        token="",
        good=("de", "DE", "de-DE", "fil-PH", "zh-Hant-TW", "es-419"),
        bad=("d", "de_DE", "german", "de-", "!!!!!", "de-DE,en;q=0.8", "de-Germany", 5, ["de"]),
    ),
    Parameter(
        name="country",
        statements=("EP1-10", "EP2-13"),
        order="user.address.country",
        token="user.address.country",
        good=("DE", "US"),
        bad=("de", "DEU", "D", "Germany", 5, ["DE"]),
    ),
    Parameter(
        name="state",
        statements=("EP1-10", "EP2-13"),
        order="user.address.state",
        token="user.address.state",
        good=("CA", "US-CA", "DE-BE", "B", "GB-ENG"),
        bad=("Bavaria", "us-ca", "USA-CA", "US-", "US-CALI", 5, ["CA"]),
    ),
    Parameter(
        name="city",
        statements=("EP1-10", "EP2-13"),
        order="user.address.city",
        token="user.address.city",
        good=TEXT_GOOD,
        bad=TEXT_BAD,
    ),
    Parameter(
        name="postal_code",
        statements=("EP1-10", "EP2-13"),
        order="user.address.postal_code",
        token="user.address.postal_code",
        good=TEXT_GOOD,
        bad=TEXT_BAD,
    ),
    Parameter(
        name="customer_metadata",  # deployed services take it in tokens
        statements=("EP1-03",),
        order="",
        token="user.metadata",
        good=({}, {"level": "7"}, {"k" * 255: "v" * 255}),
        bad=({"k": None}, {"k": 5}, {"k": "v" * 256}, [["k", "v"]], "k", ""),
        empty_is_absent=False,
    ),
)
OBJECTS: Final = tuple(
    Parameter(
        name=f"object_{path}",
        statements=(statement,),
        order=path if path in {"user", "user.address"} else "",
        token=path,
        good=(),
        bad=OBJECT_BAD,
        empty_is_absent=False,
    )
    for path, statement in (
        ("user", "EP1-03"),
        ("user.email", "EP1-05"),
        ("user.phone", "EP1-06"),
        ("user.name", "EP1-07"),
        ("user.ip", "EP1-08"),
        ("user.locale", "EP1-09"),
        ("user.address", "EP1-10"),
        ("settings", "EP1-11"),
        ("settings.return_url", "EP1-13"),
    )
)
