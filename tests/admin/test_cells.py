"""Texts in the cells of tables: long ones are shortened in lists, and may end a line elsewhere."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils.html import format_html

from checkout_integration.admin.site.values import breakable, in_list
from tests.support.admin import rows
from tests.support.admin.screens import page_address

UUID = "0198f3a2-7c4e-7b1d-9a55-2f6c8e1d0022"


@pytest.mark.parametrize("text", ["", "500 gems", UUID, "payment.chargeback"])
def test_a_text_without_a_long_word_stays(text: str) -> None:
    """A line may end at a hyphen anyway."""
    assert breakable(text) == text


def test_a_long_name_may_end_a_line_after_a_sign() -> None:
    """After a dot or an underscore; and it is escaped."""
    assert breakable("shop.receivers.grant_goods") == "shop.<wbr>receivers.<wbr>grant_<wbr>goods"
    assert breakable("<script>." + "x" * 25) == f"&lt;script&gt;.<wbr>{'x' * 12}<wbr>{'x' * 12}<wbr>x"


def test_html_is_not_broken() -> None:
    """It was made by us, and has attributes."""
    link = format_html('<a href="{}">{}</a>', "/" + "x" * 60, "open")
    assert breakable(link) == link


def test_a_long_id_shows_its_ends_in_a_list() -> None:
    """The whole is its title."""
    assert in_list(UUID) == f'<span class="ci-id" title="{UUID}">0198f3a2…0022</span>'
    assert (
        in_list('"' + "x" * 30) == f'<span class="ci-id" title="&quot;{"x" * 30}">&quot;xxxxxxx…xxxx</span>'
    )


@pytest.mark.parametrize(
    ("text", "shown"), [("", "–"), ("order-0001", "order-0001"), ("500 gems", "500 gems")]
)
def test_a_short_text_is_shown_in_a_list_as_it_is(text: str, shown: str) -> None:
    """And a mark where there is none."""
    assert in_list(text) == shown


def test_the_name_of_a_receiver_is_not_shortened_in_a_list() -> None:
    """Each of its parts says something."""
    assert in_list("shop.receivers.grant_goods") == "shop.<wbr>receivers.<wbr>grant_<wbr>goods"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("player-31@example.com", "player-31@example.com"),
        ("maximilian.mustermann-31@buyers.example", "maximilian.mustermann-31@buyers.example"),
        ("ada@" + "mail." * 10 + "example", "ada@mail.mail.mail.mail.mail.mail.mail.m…"),
        ("a" * 50 + "@buyers.example", "a" * 50 + "@b…"),
    ],
)
def test_the_name_of_an_e_mail_address_is_whole_in_a_list(address: str, shown: str) -> None:
    """It tells customers apart; the domain seldom does."""
    text = re.sub(r"<[^>]*>", "", str(in_list(address)))
    assert text == shown


@pytest.mark.django_db
def test_what_is_empty_is_a_dash(admin_client: Client) -> None:
    """An empty text as well as none: a reader sees that nothing is left out by mistake."""
    note = rows.make_notification("order-1", failure="")
    html = admin_client.get(page_address("notification", note)).content.decode()
    assert "<dt>Failure</dt><dd>–</dd>" in html
