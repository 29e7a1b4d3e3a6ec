"""What docs/languages.md shows: the middleware, a text of one's own, and the command."""

from __future__ import annotations

import re
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.test import Client
from django.utils import timezone, translation

from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.views.returning import return_link
from tests.languages.catalogues import HOMES, Place
from tests.support.documents import ROOT, block

PAGE = "docs/languages.md"


@pytest.fixture
def catalogue_of_the_shop(settings: Any, tmp_path: Path) -> None:
    """The page's own catalogue, compiled, where its settings look for it."""
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    (text,) = re.findall(r"```po\n# mysite/(locale/de/LC_MESSAGES/django.po)\n(.*?)```", page, re.DOTALL)
    file = tmp_path / Path(text[0]).with_suffix(".mo")
    file.parent.mkdir(parents=True)
    with file.open("wb") as compiled:
        write_mo(compiled, read_po(BytesIO(text[1].encode()), locale="de"))
    namespace: dict[str, Any] = {"__file__": str(tmp_path / "settings.py")}
    exec(block("docs/languages.md", "# mysite/settings.py, with texts of your own"), namespace)
    settings.LOCALE_PATHS = namespace["LOCALE_PATHS"]


@pytest.mark.django_db
@pytest.mark.usefixtures("catalogue_of_the_shop")
def test_a_text_of_the_shop_comes_before_ours(client: Client) -> None:
    """The others stay as the app has them."""
    checkout = CheckoutFactory(refreshed_at=timezone.now())
    with translation.override("de"):
        html = client.get(return_link(checkout)).content.decode()
    assert "Deine Zahlung ist noch nicht da." in html and "<h1>Warten auf die Zahlung</h1>" in html


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("accepted", "heading"),
    [
        ("de-AT, en;q=0.5", "Bezahlt"),
        ("es", "Pagado"),
        ("fr, es;q=0.5", "Pagado"),
        ("fr", "Paid"),
        ("", "Paid"),
    ],
)
def test_customers_see_the_language_of_their_browser(
    client: Client, settings: Any, accepted: str, heading: str
) -> None:
    """With the middleware that the page adds, in its place; other languages give English."""
    namespace: dict[str, Any] = {"MIDDLEWARE": list(settings.MIDDLEWARE)}
    exec(block("docs/languages.md", "# mysite/settings.py, with languages"), namespace)
    for name in ("MIDDLEWARE", "LANGUAGES", "LANGUAGE_CODE"):
        setattr(settings, name, namespace[name])
    checkout = CheckoutFactory()
    OrderFactory(checkout=checkout)
    with translation.override("en"):
        html = client.get(return_link(checkout), headers={"Accept-Language": accepted}).content.decode()
    assert f"<h1>{heading}</h1>" in html


def test_the_command_names_what_is_missing(tmp_path: Path) -> None:
    """It changes nothing in a complete catalogue, fills one that lacks a text, and begins one of another language."""
    assert "tests.languages" in block("CONTRIBUTING.md", "$ python3 -m tests.languages")
    home = shutil.copytree(HOMES[1], tmp_path / "shop")
    place = Place(home, "de")
    assert place.update() == []
    source = place.source
    text = source.read_text()
    translated = 'msgid "Buy now"\nmsgstr "Jetzt kaufen"'
    assert translated in text
    source.write_text(text.replace("Buy now", "Bye now"))
    assert place.update() == ["Buy now"]
    assert source.read_text() == text.replace(translated, 'msgid "Buy now"\nmsgstr ""')
    assert len(Place(home, "fr").update()) > 30
