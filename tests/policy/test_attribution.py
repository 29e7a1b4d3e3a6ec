"""Where a customer came from, as addresses say it: anybody can write anything there."""

from __future__ import annotations

import pytest

from checkout_integration.policy.attribution import Attribution

PAGE = "https://shop.example/hats/"


@pytest.mark.parametrize(
    ("address", "referrer", "found"),
    [
        (
            f"{PAGE}?utm_source=letter&utm_medium=email&utm_campaign=May+sale&x=1",
            "https://news.example/a?b",
            Attribution(
                utm_source="letter", utm_medium="email", utm_campaign="May sale", referrer_host="news.example"
            ),
        ),
        (PAGE, "https://shop.example/", Attribution()),
        (PAGE, "", Attribution()),
        ("", "https://news.example/", Attribution(referrer_host="news.example")),
        (f"{PAGE}?utm_source=a&utm_source=b", "", Attribution(utm_source="b")),
        (f"{PAGE}?utm_source=a%00b%0d%0ac", "", Attribution(utm_source="abc")),
        (f"{PAGE}?referrer_host=evil.example", "", Attribution()),
        ("https://[broken/?utm_source=a", "http://[broken", Attribution()),
        (f"{PAGE}?{'a=1&' * 200}utm_source=a", "", Attribution()),
    ],
)
def test_the_parts_of_a_visit(address: str, referrer: str, found: Attribution) -> None:
    """What can be read; the rest is left out."""
    assert Attribution.of_visit(address, referrer) == found


def test_a_long_part_is_cut() -> None:
    """To what its column holds, whether a visit says it or the shop."""
    assert Attribution.of_visit(f"{PAGE}?utm_source={'a' * 999}").utm_source == "a" * 255
    assert Attribution(utm_campaign="a" * 999).columns["utm_campaign"] == "a" * 255
