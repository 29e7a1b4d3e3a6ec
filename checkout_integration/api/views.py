"""The customer's own checkouts and orders. A row of another account gives 404, as one that does not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from django.db.models import Exists, Model, OuterRef, QuerySet
from django.http import Http404
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from rest_framework import generics
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from checkout_integration import flows
from checkout_integration.api.errors import error_response
from checkout_integration.api.filtering import StatusFilter
from checkout_integration.api.pagination import ListEnvelope, find_row
from checkout_integration.api.parsing import StrictJSONParser, idempotency_key
from checkout_integration.api.serializers import CheckoutSerializer, OrderSerializer, OwnSerializer
from checkout_integration.api.throttling import READ, SELL, CheckoutRateThrottle
from checkout_integration.conf import app_settings
from checkout_integration.flows.checkout import brought_up_to_date
from checkout_integration.hooks import load_hooks
from checkout_integration.models import Checkout, Order
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.views.dispatching import DispatchingResponse
from checkout_integration.views.transactions import outside_transactions

Row = TypeVar("Row", bound=Model)


class CheckoutAPIView(generics.GenericAPIView[Row]):
    """A view whose lists, errors and limits are those of this interface, whatever REST framework's settings say.

    In addition to its throttles, DEFAULT_THROTTLE_RATES may have rates for the scopes of `throttling`.
    """

    parser_classes = [StrictJSONParser]
    renderer_classes = [JSONRenderer]
    pagination_class = ListEnvelope
    versioning_class = None

    def get_throttles(self) -> list[BaseThrottle]:
        """Return the shop's own throttles, and ours."""
        return [*super().get_throttles(), CheckoutRateThrottle()]

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        """Return the handler that writes errors in the service's own shape."""
        return error_response

    def get_object(self) -> Row:
        """Return the row that the address names, of those that the caller may see. Raises ``Http404``."""
        row: Row | None = find_row(self.get_queryset(), self.lookup_field, self.kwargs[self.lookup_field])
        if row is None:
            raise Http404
        return row


@method_decorator(never_cache, name="dispatch")
class AccountView(CheckoutAPIView[Row]):
    """A view for the signed-in account. REST framework's settings decide on authentication and throttling."""

    permission_classes = [IsAuthenticated]
    filter_backends = [StatusFilter]
    statuses: ClassVar[tuple[str, ...]]
    account: ClassVar[str]
    """The column that says whose a row is."""

    @property
    def checkout_throttle_scope(self) -> str:
        """The scope of the request's rate: whoever sells is limited apart from whoever looks."""
        return SELL if self.request.method == "POST" else READ

    def get_queryset(self) -> QuerySet[Row]:
        """Return the customer's rows only; none for an account without a key, as null would match checkouts without one."""
        rows, key = super().get_queryset(), self.request.user.pk
        return rows.none() if key is None else rows.filter(**{self.account: key})


class CheckoutView(AccountView[Checkout]):
    """Checkouts of the signed-in account."""

    queryset = Checkout.objects.all()
    serializer_class = CheckoutSerializer
    lookup_field = "reference"
    account = "user"
    statuses = tuple(Checkout.Status.values)

    def get_queryset(self) -> QuerySet[Checkout]:
        """Return the checkouts with the order that paid for each, but not its document."""
        return super().get_queryset().select_related("paid_order").defer("paid_order__document")


@method_decorator(outside_transactions, name="dispatch")
class UpToDateView(AccountView[Row]):
    """A view for which stored notifications about the account's unpaid checkouts are applied first."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, then apply them."""
        super().initial(request, *args, **kwargs)
        if request.user.pk is not None:
            flows.inbox.apply_for_account(request.user.pk)


class OrderView(UpToDateView[Order]):
    """Orders bound to checkouts of the signed-in account."""

    queryset = Order.objects.all()
    serializer_class = OrderSerializer
    lookup_field = "order_id"
    account = "checkout__user"
    statuses = tuple(status.value for status in OrderStatus)

    def get_queryset(self) -> QuerySet[Order]:
        """Return the orders with all rows that are shown; `personal_data` would otherwise be queried row by row."""
        shown = super().get_queryset().select_related("checkout", "personal_data").prefetch_related("items")
        return shown.annotate(is_paid=Exists(Order.objects.paid().filter(pk=OuterRef("pk"))))


@method_decorator(
    outside_transactions, name="dispatch"
)  # a checkout is committed before the service is called
class CheckoutList(CheckoutView, generics.ListAPIView[Checkout]):
    """GET: the customer's checkouts. POST: a new one, with the price from the shop's hook."""

    def paginate_queryset(self, queryset: Any) -> Any:
        """Apply stored notifications for the page's checkouts and return the page."""
        page = super().paginate_queryset(queryset)
        if not page or not flows.inbox.apply_for(page):
            return page
        processing = {checkout.pk for checkout in page if checkout.processing}
        page = super().paginate_queryset(queryset)
        for checkout in page or ():
            checkout.processing = checkout.pk in processing
        return page

    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create the checkout that ``Hooks.build_checkout`` describes; the customer goes to ``payment_form_url``.

        The checkout always belongs to the signed-in account, whatever the hook returns. The header Idempotency-Key names the
        purchase, unless the hook does: sent again with it, the request finds the checkout that it has made.
        """
        project = self.kwargs.get("project", "default")
        django_request = request._request  # noqa: SLF001  # the hook is promised Django's request; there is no other way to it
        assert isinstance(request.data, dict)  # StrictJSONParser reads nothing else
        hooks = load_hooks(app_settings().project(project).hooks)
        arguments: dict[str, Any] = {
            "project": project,
            "request": django_request,
            "idempotency_key": idempotency_key(request),
            **hooks.build_checkout(django_request, request.data),
            "user": request.user,
        }
        checkout = flows.create_checkout(**arguments)
        return Created(self.get_serializer(checkout).data, status=201)


@method_decorator(outside_transactions, name="dispatch")
class CheckoutDetail(CheckoutView, generics.RetrieveAPIView[Checkout]):
    """GET: one of the customer's checkouts, by its reference."""

    def get_object(self) -> Checkout:
        """Apply stored notifications for the checkout and return it. Raises ``Http404``."""
        return brought_up_to_date(super().get_object())


class OrderList(OrderView, generics.ListAPIView[Order]):
    """GET: the customer's orders."""


class OrderDetail(OrderView, generics.RetrieveAPIView[Order]):
    """GET: one of the customer's orders, by the service's id."""


class OwnedList(UpToDateView[Checkout], generics.ListAPIView[Checkout]):
    """GET: what the customer owns now, gifts that others gave to them too, with activation codes."""

    queryset = Checkout.objects.all()
    serializer_class = OwnSerializer
    lookup_field = "reference"
    filter_backends = []

    def get_queryset(self) -> QuerySet[Checkout]:
        """Return what the account owns, with all that is shown."""
        owned = Checkout.objects.owned_by(self.request.user).defer("metadata")
        shown = owned.select_related("subject_type", "paid_order").defer(
            "paid_order__facts", "paid_order__stamps"
        )
        return shown.prefetch_related("paid_order__items")


class Created(DispatchingResponse, Response):
    """A checkout was created; a notification that arrived before the service's response may have left something due."""
