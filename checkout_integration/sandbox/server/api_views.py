"""The service's API over HTTP: tokens, orders, transactions list, cursor list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING

from werkzeug.wrappers import Request, Response

from checkout_integration.protocol import vocabulary
from checkout_integration.sandbox.faults.api_faults import respond_with_fault
from checkout_integration.sandbox.faults.catalogue import FaultPoint
from checkout_integration.sandbox.orders.language import language_of
from checkout_integration.sandbox.wire.http import json_response, read_document

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox


def _with_faults(view: Callable[[ApiViews, Request], Response]) -> Callable[[ApiViews, Request], Response]:
    """Let the fault switchboard strike a view; the view's name is the subject of the rules."""

    @wraps(view)
    def response(views: ApiViews, request: Request) -> Response:
        strike = views.sandbox.faults.draw(FaultPoint.API, view.__name__)
        if strike is None:
            return view(views, request)
        return respond_with_fault(strike.fault, request, partial(view, views))

    return response


class ApiViews:
    """The operations, each behind the fault switchboard."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Serve `sandbox`."""
        self.sandbox = sandbox

    @_with_faults
    def tokens(self, request: Request) -> Response:
        """Create a token (EP1-01)."""
        document = read_document(request, self.sandbox.profile.not_json_status)
        signature = request.headers.get(vocabulary.API_SIGNATURE_HEADER)
        token = self.sandbox.creation.create_token(document, signature)
        return json_response({"token": token, "payment_form_url": self.sandbox.token_form_url(token)})

    @_with_faults
    def order(self, request: Request) -> Response:
        """Create an order (EP2-01)."""
        document = read_document(request, self.sandbox.profile.not_json_status)
        signature = request.headers.get(vocabulary.API_SIGNATURE_HEADER)
        order = self.sandbox.creation.create_order(document, signature, language_of(request))
        return json_response({"id": order.id, "payment_form_url": self.sandbox.form_url(order.id)})

    @_with_faults
    def transactions(self, request: Request) -> Response:
        """List transactions (EP3-01)."""
        authorization = request.headers.get("Authorization")
        return json_response(self.sandbox.transactions_list.page(authorization, request.args))

    @_with_faults
    def orders(self, request: Request) -> Response:
        """List orders by cursors (EP4-04)."""
        authorization = request.headers.get("Authorization")
        return json_response(self.sandbox.cursor_list.page(authorization, request.args))
