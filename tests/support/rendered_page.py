"""A page with a tag, rendered and taken apart into its elements."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.template import Context, Template
from django.test import RequestFactory


@dataclass
class Element:
    """An element with its attributes and the text right inside it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """The elements of a page, in their order."""

    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].text += data

    def all(self, tag: str) -> list[Element]:
        """The elements of a tag."""
        return [each for each in self.elements if each.tag == tag]

    def one(self, tag: str) -> Element:
        """The only element of a tag."""
        (element,) = self.all(tag)
        return element

    @property
    def json(self) -> list[Any]:
        """The values that stand beside the script."""
        return [json.loads(each.text) for each in self.all("script") if _is_data(each)]

    @property
    def scripts(self) -> list[Element]:
        """The scripts that a browser would run."""
        return [each for each in self.all("script") if not _is_data(each)]


def render(tag: str, *, nonce: object = None, **values: Any) -> Page:
    """The page of a template with one tag, for instance ``checkout_link checkout``."""
    request = RequestFactory().get("/")
    if nonce is not None:
        request.csp_nonce = nonce  # type: ignore[attr-defined]  # as Django's middleware does
    text = Template(f"{{% load checkout %}}{{% {tag} %}}").render(Context({"request": request, **values}))
    page = Page()
    page.feed(text)
    page.close()
    return page


def _is_data(script: Element) -> bool:
    return script.attributes.get("type") == "application/json"
