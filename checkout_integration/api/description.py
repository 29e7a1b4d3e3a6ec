"""The interface as drf-spectacular describes it, with the responses to requests that are refused.

`api.urls` loads it where drf-spectacular is among the installed apps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiViewExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from checkout_integration.api.server import OwnedList, ServerAuthentication, ServerView
from checkout_integration.api.views import AccountView

if TYPE_CHECKING:
    from rest_framework.views import APIView

REFUSED: Final = {
    401: "Nobody is signed in.",
    403: "Nobody is signed in, or the shop refuses.",
    406: "The response is JSON, and the request does not accept it.",
    429: "Too many requests; Retry-After says when to try again.",
}
REFUSED_LIST: Final = {400: "A parameter is not valid."}
REFUSED_ROW: Final = {404: "The account has no such row."}
REFUSED_SALE: Final = {
    400: "The body is not valid, or breaks a rule of the service.",
    409: "The same request is being worked on.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "The idempotency key belongs to another purchase.",
    502: "The service created no order. Nothing was charged.",
}


KEY: Final = OpenApiParameter(
    "Idempotency-Key",
    location=OpenApiParameter.HEADER,
    description="Any text for one purchase, in quotes: sent again with it, the request makes no second checkout.",
)


REFUSED_SERVER: Final = {
    401: "No token of OWNERSHIP_TOKENS was sent.",
    406: REFUSED[406],
    429: REFUSED[429],
    503: "The tokens cannot be read now.",
}
REFUSED_ACKNOWLEDGEMENT: Final = {
    404: "The project has no such grant.",
    409: "The payment was reversed: do not deliver the goods.",
}


def _text_parameter(name: str, text: str, *, required: bool = False) -> OpenApiParameter:
    return OpenApiParameter(
        name, description=text, required=required, type={"type": "string", "minLength": 1, "maxLength": 255}
    )


OF_CUSTOMER: Final = [_text_parameter("external_id", "The customer's id in the shop.", required=True)]
OF_PRODUCT: Final = [_text_parameter("product", "Only what has this product.")]
UNCHANGED: Final = {
    "304": {"description": "Nothing has changed since the response with the ETag of If-None-Match."}
}


class ErrorSerializer(serializers.Serializer[Any]):
    """An error, as the service itself writes them."""

    code = serializers.CharField()
    message = serializers.CharField()
    details = serializers.CharField(allow_blank=True)


class AccountSchema(AutoSchema):
    """The description of a view, with its errors."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """Return the operation; its responses are those of success and of each refusal."""
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        error = self.resolve_serializer(ErrorSerializer, "response").ref
        content = {"application/json": {"schema": error}}
        refusals = {
            str(status): {"description": text, "content": content}
            for status, text in self._refusals().items()
        }
        operation["responses"] = dict(sorted((operation["responses"] | refusals).items()))
        return operation

    def get_override_parameters(self) -> list[Any]:
        """Return the header of a sale."""
        return [KEY] if self.method == "POST" else []

    def get_request_serializer(self) -> Any:
        """Return the body of a sale: any object, which the shop's hook reads."""
        return OpenApiTypes.OBJECT

    def get_response_serializers(self) -> Any:
        """Return what is sent on success: a sale creates something."""
        found = super().get_response_serializers()
        return {201: found} if self.method == "POST" else found

    def _refusals(self) -> dict[int, str]:
        if self.method == "POST":
            return REFUSED | REFUSED_SALE
        return REFUSED | (REFUSED_LIST if self._is_list_view() else REFUSED_ROW)


class ServerSchema(AccountSchema):
    """The description of a view for game servers."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """Return the operation; what was read may be unchanged."""
        operation = super().get_operation(*args, **kwargs)
        if operation is not None and self.method == "GET":
            operation["responses"] = dict(sorted((operation["responses"] | UNCHANGED).items()))
        return operation

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters of the lists."""
        if self.method == "POST":
            return []
        return OF_CUSTOMER + (OF_PRODUCT if isinstance(self.view, OwnedList) else [])

    def get_request_serializer(self) -> Any:
        """Return nothing: there is no body."""
        return None

    def get_response_serializers(self) -> Any:
        """Return what is sent on success: nothing is created."""
        return AutoSchema.get_response_serializers(self)

    def _refusals(self) -> dict[int, str]:
        return REFUSED_SERVER | (REFUSED_ACKNOWLEDGEMENT if self.method == "POST" else REFUSED_LIST)


class AccountViewExtension(OpenApiViewExtension):  # type: ignore[no-untyped-call]
    """Describes all views of accounts in this way."""

    target_class = AccountView
    match_subclasses = True

    def view_replacement(self) -> type[APIView]:
        """Return the view with its description."""
        described: type[APIView] = type(self.target.__name__, (self.target,), {"schema": AccountSchema()})
        return described


class ServerViewExtension(OpenApiViewExtension):  # type: ignore[no-untyped-call]
    """Describes all views for game servers in this way."""

    target_class = ServerView
    match_subclasses = True

    def view_replacement(self) -> type[APIView]:
        """Return the view with its description."""
        described: type[APIView] = type(self.target.__name__, (self.target,), {"schema": ServerSchema()})
        return described


class ServerAuthenticationExtension(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes the token of game servers."""

    target_class = ServerAuthentication
    name = "gameServer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """Return that it is a bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "A token of OWNERSHIP_TOKENS"}
