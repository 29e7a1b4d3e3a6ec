"""A member of staff at the admin, in a browser. Steps are counted: a click, or a form that is filled in and submitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from tests.support.browser import PATIENCE, expect
from tests.support.paths.browsing import look_around

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Download, Locator, Page

INDEX: Final = "/admin/"
MOST_STEPS: Final = 4


def enter(context: BrowserContext, address: str, user: User) -> None:
    """Give a browser the session of a member of staff."""
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": address}])
    context.set_default_timeout(PATIENCE)


def named(content: Locator, words: str) -> Locator:
    """Return a button, or the link that looks like one."""
    by_role = (
        content.get_by_role(role, name=words, exact=True, include_hidden=True) for role in ("button", "link")
    )
    button, link = by_role
    return button.or_(link).first


def unfold_for(content: Locator, words: str) -> None:
    """Open "More", where a button is in there. It is part of the step that presses it."""
    if not named(content, words).is_visible():
        content.locator(".ci-acts > summary").click()


class Desk:
    """Begins at the index of the admin."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.steps = 0
        page.goto(f"{address}{INDEX}")

    def follow(self, link: str) -> None:
        """Take a step: a link, by its text."""
        self._step(self._link(link))

    def find(self, text: str) -> None:
        """Take two steps: to the page of the app, and by its search box to the row."""
        self.follow("Checkout")
        self.submit("Find", {"Find an order or a customer": text})

    def choose(self, action: str, *rows: str) -> None:
        """Take a step: tick these rows of a list, and start an action."""
        for text in rows:
            self.row(text).get_by_role("checkbox").check()
        self.page.get_by_label("Action:").select_option(label=action)
        self.submit("Go")

    def open_row(self, *texts: str) -> None:
        """Take a step: the row of a list that has these texts."""
        self._step(self.row(*texts).get_by_role("link").first)

    def submit(self, button: str, values: Mapping[str, str | bool] | None = None) -> None:
        """Take a step: fill in fields by their labels, and press the button of their form."""
        for label, value in (values or {}).items():
            _fill_in(self.page.get_by_label(label, exact=True).first, value)
        content = self.page.locator("#content")
        unfold_for(content, button)
        self._step(named(content, button))

    def unfold(self, summary: str) -> None:
        """Take a step: what is folded away."""
        self.steps += 1
        self.page.locator("summary").filter(has_text=summary).first.click()

    def download(self, link: str) -> Download:
        """Take a step: a link to a file."""
        self.steps += 1
        unfold_for(self.page.locator("#content"), link)
        with self.page.expect_download() as download:
            self._link(link).click()
        return download.value

    def row(self, *texts: str) -> Locator:
        """The rows of a list that have these texts; long ids have them under a resting mouse."""
        rows = self.page.locator("#result_list tbody tr")
        for text in texts:
            rows = rows.filter(has_text=text).or_(rows.filter(has=self.page.get_by_title(text, exact=True)))
        return rows

    def reads_at_once(self, *texts: str) -> None:
        """Expect these texts on the first screen of the page: without scrolling, after few enough steps."""
        # First: a page that a key is still leaving would forget the scrolling.
        expect(self._text(texts[0])).to_be_visible()
        self.page.evaluate("scrollTo(0, 0)")
        for text in texts:
            expect(self._text(text)).to_be_in_viewport()
        self._count()

    def reads(self, *texts: str) -> None:
        """Expect these texts on the page, after few enough steps."""
        for text in texts:
            expect(self._text(text)).to_be_visible()
        self._count()

    def look(self, name: str) -> None:
        """Keep pictures of the page, where somebody asks for them."""
        look_around(self.page, f"task-{name}")

    def _text(self, text: str) -> Locator:
        shown = self.page.locator("#container")
        return shown.get_by_text(text).or_(shown.get_by_title(text, exact=True)).first

    def _link(self, text: str) -> Locator:
        return self.page.get_by_role("link", name=text, exact=True).first

    def _step(self, target: Locator) -> None:
        """Click, and return when the next page is there: a click alone returns while the old one is still being left."""
        self.steps += 1
        with self.page.expect_navigation():
            target.click()

    def _count(self) -> None:
        assert self.steps <= MOST_STEPS, f"{self.steps} steps"


def _fill_in(field: Locator, value: str | bool) -> None:
    """Type a text, choose an option by its words, or set a box."""
    kind = field.evaluate("each => each.type")
    if isinstance(value, bool):
        field.set_checked(value)
    elif kind == "select-one":
        field.select_option(label=value)
    elif kind == "radio":
        field.check()
    else:
        field.fill(value)
