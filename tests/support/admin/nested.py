"""Forms inside forms: a browser drops the inner one, and its button submits the outer one."""

from __future__ import annotations

from html.parser import HTMLParser


class _Forms(HTMLParser):
    """Reads a page as browsers do: while a form is open, the beginning of another is passed over."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.nested = False, list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "form":
            if self.open:
                self.nested.append(str(dict(attrs)))
            self.open = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.open = False


def nested_forms(page: str) -> list[str]:
    """Return the attributes of the forms that are inside others."""
    forms = _Forms()
    forms.feed(page)
    forms.close()
    return forms.nested
