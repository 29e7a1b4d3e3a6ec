"""REST for game servers: what a customer owns, which goods wait to be delivered, and that they were.

A token of OWNERSHIP_TOKENS names the project; nothing of other projects is seen. There is no personal data in any response.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, QuerySet
from django.http import Http404
from django.utils.cache import get_conditional_response
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import cache_control
from rest_framework import generics, status
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import APIException, AuthenticationFailed, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from checkout_integration.api.serializers import GrantSerializer, OwnedSerializer
from checkout_integration.api.throttling import SERVER
from checkout_integration.api.views import CheckoutAPIView
from checkout_integration.conf import SHORTEST_SECRET, Project, app_settings
from checkout_integration.flows.checkout import AlreadyClosed, acknowledge, owned_by_id, waiting_grants
from checkout_integration.models import Checkout, Grant
from checkout_integration.policy.log_safety import error_location
from checkout_integration.views.transactions import outside_transactions

logger = logging.getLogger("checkout_integration.ownership")

Row = TypeVar("Row", bound=Model)
LONGEST_ID = 255


class Closed(APIException):
    """409: the payment was reversed before the goods were acknowledged."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "closed"
    default_detail = _("The payment was reversed. Do not deliver these goods.")


class TokensUnknown(APIException):
    """503: the tokens of a project cannot be read, and the request has none of the others: it may be right."""

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "tokens_unknown"
    default_detail = _("The token cannot be checked now. Ask again in a moment.")


class ServerAuthentication(BaseAuthentication):
    """A bearer token of a project's OWNERSHIP_TOKENS; the project is ``request.auth``."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Project]:
        """Return nobody, and the project. Raises ``AuthenticationFailed``, or `TokensUnknown`."""
        scheme, _blank, token = get_authorization_header(request).partition(b" ")
        project = _project_of(token.strip()) if scheme.lower() == b"bearer" else None
        if project is None:
            raise AuthenticationFailed(gettext("Send a token of OWNERSHIP_TOKENS as a bearer token."))
        return AnonymousUser(), project

    def authenticate_header(self, request: Request) -> str:
        """Return how to authenticate."""
        return "Bearer"


def _project_of(given: bytes) -> Project | None:
    """Return the project whose token it is; all tokens are compared, each in constant time."""
    found, unread = None, False
    for project in app_settings().projects.values():
        try:
            tokens = [token.reveal().encode() for token in project.ownership_secrets]
        except Exception as error:  # noqa: BLE001  # a setting's callable may raise anything
            logger.error(
                "OWNERSHIP_TOKENS cannot be read: %s", error_location(error), extra={"project": project.alias}
            )
            unread = True
            continue
        for token in tokens:
            # A callable may return an empty text, which anybody can send.
            if constant_time_compare(given, token) and len(token) >= SHORTEST_SECRET:
                found = project
    if unread and found is None and len(given) >= SHORTEST_SECRET:
        raise TokensUnknown
    return found


class ServerView(CheckoutAPIView[Row]):
    """A view for the game servers of a project."""

    authentication_classes = [ServerAuthentication]
    permission_classes = []
    filter_backends = []
    checkout_throttle_scope = SERVER

    @property
    def project(self) -> Project:
        """The project of the token."""
        project = self.request.auth
        assert isinstance(project, Project)
        return project

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Add an ETag to what was read; 304 without a body to whoever has it already."""
        response = super().finalize_response(request, response, *args, **kwargs)
        if request.method not in ("GET", "HEAD") or response.status_code != status.HTTP_200_OK:
            return response
        text = json.dumps(response.data, cls=JSONEncoder, sort_keys=True)
        etag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
        response.headers["ETag"] = etag
        return get_conditional_response(request, etag=etag, response=response) or response


@method_decorator(cache_control(private=True, no_cache=True), name="dispatch")
class CustomerList(ServerView[Row], generics.ListAPIView[Row]):
    """A list about the customer whom the parameter ``external_id`` names."""

    def external_id(self) -> str:
        """Return the id. Raises ``ValidationError``."""
        return self.text("external_id", required=True)

    def text(self, name: str, *, required: bool = False) -> str:
        """Return a parameter; "" where it may be missing. Raises ``ValidationError``."""
        given = self.request.query_params.getlist(name)
        if not given and not required:
            return ""
        if len(given) != 1 or not 0 < len(given[0]) <= LONGEST_ID or "\0" in given[0]:
            text = gettext("Give one text of at most %(most)d characters.") % {"most": LONGEST_ID}
            raise ValidationError({name: text})
        return str(given[0])


class OwnedList(CustomerList[Checkout]):
    """GET: what the customer owns; with ``product`` only what has this product, so an empty list is a no."""

    queryset = Checkout.objects.none()
    serializer_class = OwnedSerializer
    lookup_field = "reference"

    def get_queryset(self) -> QuerySet[Checkout]:
        """Return the customer's paid checkouts."""
        owned = owned_by_id(self.project, self.external_id(), self.text("product"))
        return owned.select_related("subject_type")


class GrantList(CustomerList[Grant]):
    """GET: the goods of the customer that wait to be delivered and acknowledged, where GOODS is "pull"."""

    queryset = Grant.objects.none()
    serializer_class = GrantSerializer
    lookup_field = "key"

    def get_queryset(self) -> QuerySet[Grant]:
        """Return the customer's open grants that are not acknowledged."""
        return waiting_grants(self.project, self.external_id()).select_related("checkout__subject_type")


@method_decorator(outside_transactions, name="dispatch")
class Acknowledgement(ServerView[Grant]):
    """POST: the goods of a grant were delivered. It may be sent again: the first one counts."""

    queryset = Grant.objects.none()
    serializer_class = GrantSerializer
    lookup_field = "key"

    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Acknowledge the grant; 409 if it was closed before."""
        try:
            grant = acknowledge(self.project, self.kwargs["key"])
        except AlreadyClosed:
            raise Closed from None
        if grant is None:
            raise Http404
        return Response(self.get_serializer(grant).data)
