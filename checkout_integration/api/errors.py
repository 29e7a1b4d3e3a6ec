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

from checkout_integration.flows import CheckoutError, CustomerBlocked, NotCreated
from checkout_integration.protocol.creation_values import CreationError


class ServiceFailed(APIException):
    """502: the service created no order, or did not respond. Its error is stored with the checkout, for staff."""

    status_code = status.HTTP_502_BAD_GATEWAY
    default_code = "service_failed"
    default_detail = _("The payment could not be started. Nothing was charged.")


class InProgress(APIException):
    """409: the same request came before, and has no response of the service yet. It is safe to send it again."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "in_progress"
    default_detail = _("The same request is being worked on. Send it again in a moment.")


class OtherPurchase(APIException):
    """422: the key of the request names another purchase."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_code = "key_reused"
    default_detail = _("The idempotency key belongs to another purchase. Use a new one.")


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
        key_problem = "idempotency_key" in dict(error.problems)
        return (
            OtherPurchase()
            if key_problem
            else ValidationError([f"{n}: {text}" for n, text in error.problems])
        )
    return _of_service(error) if isinstance(error, CheckoutError) else error


def _of_service(error: CheckoutError) -> APIException:
    if isinstance(error, CustomerBlocked):
        return PermissionDenied()
    return InProgress() if isinstance(error, NotCreated) and not error.retry_is_safe else ServiceFailed()


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
