"""Errors as the service itself writes them: code, message, details (ERR-01 to ERR-03)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, NotFound, PermissionDenied, ValidationError
from rest_framework.response import Response
from rest_framework.serializers import as_serializer_error
from rest_framework.views import exception_handler

from checkout_integration.flows import CheckoutError, CustomerBlocked
from checkout_integration.protocol.creation_values import CreationError


class ServiceFailed(APIException):
    """502: the service created no order, or did not respond. Its error is stored with the checkout, for staff."""

    status_code = status.HTTP_502_BAD_GATEWAY
    default_code = "service_failed"
    default_detail = _("The payment could not be started. Nothing was charged.")


def error_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the error object for an exception of REST framework, the hook or the flow; None for a bug (a 500)."""
    error = _translated(error)
    response = exception_handler(error, context)
    if response is not None and isinstance(error, APIException):
        response.data = _error_object(error)
    return response


def _translated(error: Exception) -> Exception:
    if isinstance(error, Http404):
        return NotFound()  # Django's own text names the model
    if isinstance(error, DjangoPermissionDenied):
        return PermissionDenied(str(error) or None)
    if isinstance(error, DjangoValidationError):
        return ValidationError(as_serializer_error(error))
    if isinstance(error, CreationError):
        return ValidationError([f"{field}: {message}" for field, message in error.problems])
    if isinstance(error, CheckoutError):
        return PermissionDenied() if isinstance(error, CustomerBlocked) else ServiceFailed()
    return error


def _error_object(error: APIException) -> dict[str, str]:
    if isinstance(error, ValidationError):
        details = "; ".join(_sentences(error.detail))
        return {"code": "invalid", "message": gettext("The request is not valid."), "details": details}
    return {"code": error.default_code, "message": str(error.detail), "details": ""}


def _sentences(detail: object, field: str = "") -> Iterator[str]:
    """Return each message with the path of its field in front."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _sentences(inner, f"{field}.{name}" if field else str(name))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _sentences(inner, field)
    else:
        yield f"{field}: {detail}" if field else str(detail)
