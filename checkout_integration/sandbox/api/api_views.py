"""The service's API over HTTP: tokens, orders, transactions list, cursor list."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol import vocabulary
from checkout_integration.sandbox.api.creation_requests import CreationRequests
from checkout_integration.sandbox.api.cursor_list import ORDERS_PATH, CursorList
from checkout_integration.sandbox.api.transactions_list import TransactionsList
from checkout_integration.sandbox.faults import FaultPoint, FaultSwitchboard, respond_with_fault
from checkout_integration.sandbox.orders import language_of
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.wire import json_response, read_document


class ApiViews:
    """The operations, each behind the fault switchboard."""

    def __init__(
        self,
        *,
        creation: CreationRequests,
        transactions_list: TransactionsList,
        cursor_list: CursorList,
        faults: FaultSwitchboard,
        profile: Profile,
        form_url: Callable[[str], str],
        token_form_url: Callable[[str], str],
    ) -> None:
        """Work on the sandbox's parts; `form_url` gives the form of an order, `token_form_url` that of a token."""
        self._creation = creation
        self._transactions_list = transactions_list
        self._cursor_list = cursor_list
        self._faults = faults
        self._not_json_status = profile.not_json_status
        self._form_url = form_url
        self._token_form_url = token_form_url

    def rules(self) -> list[Rule]:
        """Return the routes; each endpoint is a callable of the request."""
        return [
            Rule(vocabulary.TOKENS_PATH, methods=["POST"], endpoint=self._behind("tokens", self.tokens)),
            Rule(vocabulary.ORDER_PATH, methods=["POST"], endpoint=self._behind("order", self.order)),
            Rule(
                vocabulary.TRANSACTIONS_PATH,
                methods=["GET"],
                endpoint=self._behind("transactions", self.transactions),
            ),
            Rule(ORDERS_PATH, methods=["GET"], endpoint=self._behind("orders", self.orders)),
        ]

    def tokens(self, request: Request) -> Response:
        """Create a token (EP1-01)."""
        document = read_document(request, self._not_json_status)
        signature = request.headers.get(vocabulary.API_SIGNATURE_HEADER)
        token = self._creation.create_token(document, signature)
        return json_response({"token": token, "payment_form_url": self._token_form_url(token)})

    def order(self, request: Request) -> Response:
        """Create an order (EP2-01)."""
        document = read_document(request, self._not_json_status)
        signature = request.headers.get(vocabulary.API_SIGNATURE_HEADER)
        order = self._creation.create_order(document, signature, language_of(request))
        return json_response({"id": order.id, "payment_form_url": self._form_url(order.id)})

    def transactions(self, request: Request) -> Response:
        """List transactions (EP3-01)."""
        authorization = request.headers.get("Authorization")
        return json_response(self._transactions_list.page(authorization, request.args))

    def orders(self, request: Request) -> Response:
        """List orders by cursors (EP4-04)."""
        authorization = request.headers.get("Authorization")
        return json_response(self._cursor_list.page(authorization, request.args))

    def _behind(self, subject: str, handler: Callable[[Request], Response]) -> Callable[[Request], Response]:
        def response(request: Request) -> Response:
            strike = self._faults.draw(FaultPoint.API, subject)
            return respond_with_fault(strike.fault, request, handler) if strike else handler(request)

        return response
