"""People at the shop and at the service, without a browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import requests

from example_project.check.pages import Page
from example_project.check.steps import Failed, await_value, expect
from example_project.processes import Places
from example_project.shop.demo import Account

GOOD_CARD = "4242424242424242"
DECLINED_CARD = "4000000000000002"
TIMEOUT = 20.0


class Visitor:
    """Someone with a browser's session: a customer, or staff."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy stands between

    def get(self, address: str) -> Page:
        """Open an address, or a path of the shop."""
        return self._page("GET", urljoin(self._places.shop, address))

    def submit(self, page: Page, action_ends: str, **values: str) -> Page:
        """Send a form of a page, with these values on top of what it holds, and follow where it leads."""
        form = page.form(action_ends)
        return self._page("POST", urljoin(page.url, form.action), {**form.values, **values})

    def follow(self, page: Page, words: str) -> Page:
        """Follow the link with these words."""
        return self.get(urljoin(page.url, page.links[words]))

    def log_in(self, account: Account, path: str = "/accounts/login/") -> Page:
        """Log in at the shop, or at its admin."""
        page = self.get(path)
        done = self.submit(page, page.forms[0].action, username=account.username, password=account.password)
        if any("password" in form.values for form in done.forms):
            raise Failed(f"{account.username} could not log in at {path}")
        return done

    def buy(self, slug: str, player: str = "") -> Page:
        """Press "Buy now" in the shop, perhaps as a gift; returns the service's form."""
        form = self.submit(self.get(f"/products/{slug}/"), f"/products/{slug}/buy/", player=player)
        expect("the host of the form", form.url.startswith(self._places.service), True)
        return form

    def pay(self, form: Page, card: str = GOOD_CARD) -> Page:
        """Fill in the service's form; returns how it ended."""
        typed = {"number": card, "expiry": "12/34", "cvc": "123", "email": "robin@example.com"}
        return self.submit(form, "/form/pay", **typed)

    def come_back(self, end: Page) -> Page:
        """Press the button at the end of the form, which leads to the page of the purchase."""
        return self.follow(end, "OK")

    def read_until(self, page: Page, words: str) -> Page:
        """Look at a page again and again until it says so."""

        def look() -> Page | None:
            seen = self.get(page.url)
            return seen if words in seen.text else None

        return await_value(f"{words!r} on the page", look)

    def _page(self, method: str, address: str, values: dict[str, str] | None = None) -> Page:
        answer = self._session.request(method, address, data=values, timeout=TIMEOUT)
        if answer.status_code != 200:
            raise Failed(f"{method} {address} was answered {answer.status_code}")
        return Page(answer.url, answer.text)


class Operator:
    """Someone at the service itself, through its control API."""

    def __init__(self, places: Places) -> None:
        self._base = f"{places.service}/_sandbox"
        self._session = requests.Session()
        self._session.trust_env = False

    def ask(self, method: str, path: str, **document: Any) -> dict[str, Any]:
        """Call the control API. Raises Failed when it refuses."""
        answer = self._session.request(method, f"{self._base}/{path}", json=document, timeout=TIMEOUT)
        if not answer.ok:
            raise Failed(f"{method} {path} was answered {answer.status_code}: {answer.text[:200]}")
        result: dict[str, Any] = answer.json()
        return result
