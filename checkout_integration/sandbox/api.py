"""The service's API over HTTP: tokens, orders, transactions list, cursor list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.protocol import vocabulary
from checkout_integration.sandbox.cursor_list import ORDERS_PATH
from checkout_integration.sandbox.faults_catalogue import FaultPoint
from checkout_integration.sandbox.language import language_of
from checkout_integration.sandbox.unreliable import answer_with
from checkout_integration.sandbox.wire import json_answer, read_document

if TYPE_CHECKING:
    from checkout_integration.sandbox.sandbox import Sandbox


class Api:
    """The operations, each behind the fault switchboard."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for `sandbox`."""
        self._sandbox = sandbox

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
        sandbox = self._sandbox
        document = read_document(request, sandbox.profile.not_json_status)
        signature = request.headers.get(vocabulary.API_SIGNATURE_HEADER)
        token = sandbox.creation.create_token(document, signature)
        return json_answer({"token": token, "payment_form_url": sandbox.token_form_url(token)})

    def order(self, request: Request) -> Response:
        """Create an order (EP2-01)."""
        sandbox = self._sandbox
        document = read_document(request, sandbox.profile.not_json_status)
        signature = request.headers.get(vocabulary.API_SIGNATURE_HEADER)
        order = sandbox.creation.create_order(document, signature, language_of(request))
        return json_answer({"id": order.id, "payment_form_url": sandbox.form_url(order.id)})

    def transactions(self, request: Request) -> Response:
        """List transactions (EP3-01)."""
        authorization = request.headers.get("Authorization")
        return json_answer(self._sandbox.listing.page(authorization, request.args))

    def orders(self, request: Request) -> Response:
        """List orders by cursors (EP4-04)."""
        authorization = request.headers.get("Authorization")
        return json_answer(self._sandbox.cursor_list.page(authorization, request.args))

    def _behind(self, subject: str, handler: Callable[[Request], Response]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            strike = self._sandbox.faults.draw(FaultPoint.API, subject)
            return answer_with(strike.fault, request, handler) if strike else handler(request)

        return answer
