"""The specification's cursor lists: ``limit``, ``starting_after``, ``ending_before``, the list envelope (EP4-01 to 04)."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from checkout_integration.protocol.vocabulary import CURSOR_LIMIT_MAX, CURSOR_LIMIT_MIN, OBJECT_LIST

DEFAULT_LIMIT = 20
MOST_COUNTED = 10_000
CURSORS = {
    "starting_after": "Identifier of the last object of the previous page.",
    "ending_before": "Identifier of the first object of the next page.",
}


class ListEnvelope(BasePagination):
    """Pages of a customer's rows, the latest recorded first.

    Cursors are identifiers (the view's ``lookup_field``) of the customer's own rows; one that the filter no longer matches
    still marks its place. ``total_count``, which the specification lists as boolean and describes as a count (LST-05), is a
    number. Only the customer's own rows are counted, by index, and no further than MOST_COUNTED: that number means "or more".
    """

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """Return the rows of the page. Raises ``ValidationError`` for a bad limit, an unknown cursor, or two cursors."""
        limit = _limit(request.query_params.get("limit"))
        after, before = (_cursor(request, name, view) for name in CURSORS)
        if after and before:
            raise ValidationError({"ending_before": _("Give one of starting_after and ending_before.")})
        self.total_count = queryset.order_by().values("pk")[:MOST_COUNTED].count()
        if before:
            page = list(queryset.filter(pk__gt=before).order_by("pk")[: limit + 1])
            self.has_before = len(page) > limit
            self.has_more = queryset.filter(pk__lte=before).exists()
            return page[:limit][::-1]
        rows = queryset.filter(pk__lt=after) if after else queryset
        page = list(rows.order_by("-pk")[: limit + 1])
        self.has_before = after is not None and queryset.filter(pk__gte=after).exists()
        self.has_more = len(page) > limit
        return page[:limit]

    def get_paginated_response(self, data: Any) -> Response:
        """Return the envelope (LST-01 to LST-05)."""
        return Response(
            {
                "object": OBJECT_LIST,
                "data": data,
                "has_more": self.has_more,
                "has_before": self.has_before,
                "total_count": self.total_count,
            }
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the envelope as OpenAPI describes it."""
        properties = {
            "object": {"type": "string", "enum": [OBJECT_LIST]},
            "data": schema,
            "has_more": {"type": "boolean"},
            "has_before": {"type": "boolean"},
            "total_count": {"type": "integer", "minimum": 0, "maximum": MOST_COUNTED},
        }
        return {"type": "object", "required": list(properties), "properties": properties}

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """Return the parameters as OpenAPI describes them."""
        limit = {
            "type": "integer",
            "minimum": CURSOR_LIMIT_MIN,
            "maximum": CURSOR_LIMIT_MAX,
            "default": DEFAULT_LIMIT,
        }
        described = {"limit": ("Objects on a page.", limit)} | {
            name: (words, {"type": "string"}) for name, words in CURSORS.items()
        }
        return [
            {"name": name, "in": "query", "required": False, "description": words, "schema": schema}
            for name, (words, schema) in described.items()
        ]


def _limit(text: str | None) -> int:
    """Return the size of the page (EP4-01, LIM-01)."""
    if text is None:
        return DEFAULT_LIMIT
    plain = text.isascii() and text.isdigit() and len(text) <= len(str(CURSOR_LIMIT_MAX))
    if not plain or not CURSOR_LIMIT_MIN <= int(text) <= CURSOR_LIMIT_MAX:
        bounds = {"least": CURSOR_LIMIT_MIN, "most": CURSOR_LIMIT_MAX}
        raise ValidationError({"limit": _("Use a whole number from %(least)d to %(most)d.") % bounds})
    return int(text)


def _cursor(request: Request, name: str, view: GenericAPIView[Any]) -> int | None:
    """Return the primary key of the cursor's row. The specification does not show what an unknown one does (EP4-02)."""
    identifier = request.query_params.get(name)
    if identifier is None:
        return None
    row = find_row(view.get_queryset(), view.lookup_field, identifier)
    if row is None:
        raise ValidationError({name: _("There is no such object.")})
    primary_key: int = row.pk
    return primary_key


def find_row(rows: QuerySet[Any], field: str, identifier: str) -> Any:
    """Return the row with an identifier, or None; of two projects' orders with one identifier the latest recorded."""
    if "\0" in identifier:  # PostgreSQL takes no such text, not even to look for it
        return None
    return rows.filter(**{field: identifier}).order_by("-pk").first()
