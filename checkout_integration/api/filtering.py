"""The one filter: by status. Nothing else of the query string ever reaches the database."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request
from rest_framework.views import APIView


class StatusFilter(BaseFilterBackend):
    """``?status=paid``, also several times for any of several; the view's ``statuses`` are the allowed values."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        """Return the rows with one of the requested statuses. Raises ``ValidationError`` for an unknown status."""
        chosen = request.query_params.getlist("status")
        known = _statuses(view)
        if not set(chosen) <= set(known):
            raise ValidationError({"status": _("Use one of: %(words)s.") % {"words": ", ".join(known)}})
        return queryset.filter(status__in=chosen) if chosen else queryset

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        """Return the parameter as OpenAPI describes it."""
        words = {"type": "array", "items": {"type": "string", "enum": list(_statuses(view))}}
        return [
            {
                "name": "status",
                "in": "query",
                "required": False,
                "description": "One status, or several.",
                "schema": words,
            }
        ]


def _statuses(view: APIView) -> tuple[str, ...]:
    statuses: tuple[str, ...] = view.statuses  # type: ignore[attr-defined]  # views.AccountView
    return statuses
