"""The OpenAPI document that drf-spectacular makes of the REST interface."""

from __future__ import annotations

from typing import Any

from drf_spectacular.generators import SchemaGenerator

from checkout_integration.api import description

ADDRESSES = "tests.api.urls"


def described() -> dict[str, Any]:
    """Return the document, with the refusals that `api.description` adds."""
    assert description.AccountViewExtension.match_subclasses
    generator: Any = SchemaGenerator
    document: dict[str, Any] = generator(urlconf=ADDRESSES).get_schema(request=None, public=True)
    return document
