"""Reading a page as a visitor does: its text, its links and its forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass(kw_only=True)
class PageForm:
    """A form of a page: where it is sent, and its initial values."""

    action: str
    method: str
    values: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """A page that was answered from `url`."""

    def __init__(self, url: str, text: str) -> None:
        super().__init__()
        self.url = url
        self.forms: list[PageForm] = []
        self.links: dict[str, str] = {}
        self._link = ""
        self._words: list[str] = []
        self.feed(text)
        self.text = " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links, forms and their fields."""
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(
                PageForm(action=values.get("action") or self.url, method=values.get("method", "get"))
            )
        elif tag == "input" and self.forms and "name" in values:
            self.forms[-1].values[values["name"]] = values.get("value", "")
        elif tag == "a":
            self._link = values.get("href", "")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a link."""
        if tag == "a":
            self._link = ""

    def handle_data(self, data: str) -> None:
        """Note the words, and where those of a link lead."""
        self._words.append(data)
        if self._link and data.strip():
            self.links.setdefault(data.strip(), self._link)

    def form(self, action_ends: str) -> PageForm:
        """Return the form whose action ends so. Raises LookupError."""
        for form in self.forms:
            if form.action.endswith(action_ends):
                return form
        raise LookupError(f"{self.url} has no form for {action_ends!r}")
