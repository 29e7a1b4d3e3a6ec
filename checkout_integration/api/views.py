"""The buyer's own checkouts and orders. What belongs to somebody else is as unknown as what does not exist."""

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

from checkout_integration import flows
from checkout_integration.api.errors import answer_error
from checkout_integration.api.filtering import StatusFilter
from checkout_integration.api.pagination import ListEnvelope, find_row
from checkout_integration.api.parsing import StrictJSONParser
from checkout_integration.api.serializers import CheckoutSerializer, OrderSerializer
from checkout_integration.conf import app_settings
from checkout_integration.flows.returning import brought_up_to_date
from checkout_integration.hooks import load_hooks
from checkout_integration.models import Checkout, Order
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.views.handing_over import HandingOver
from checkout_integration.views.transactions import outside_transactions

Row = TypeVar("Row", bound=Model)


@method_decorator(never_cache, name="dispatch")
class BuyerView(generics.GenericAPIView[Row]):
    """What all views share. Authentication and throttling are left to the shop's settings of REST framework."""

    permission_classes = [IsAuthenticated]
    parser_classes = [StrictJSONParser]
    renderer_classes = [JSONRenderer]
    pagination_class = ListEnvelope
    filter_backends = [StatusFilter]
    versioning_class = None
    statuses: ClassVar[tuple[str, ...]]
    account: ClassVar[str]
    """The column that says whose a row is."""

    def get_queryset(self) -> QuerySet[Row]:
        """The buyer's rows only. An account without a key owns none: to ask for null would find the sales of nobody."""
        rows, key = super().get_queryset(), self.request.user.pk
        return rows.none() if key is None else rows.filter(**{self.account: key})

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        """Errors are answered in the service's own shape."""
        return answer_error

    def get_object(self) -> Row:
        """The buyer's row that the address names. Raises ``Http404``."""
        row: Row | None = find_row(self.get_queryset(), self.lookup_field, self.kwargs[self.lookup_field])
        if row is None:
            raise Http404
        return row


class CheckoutView(BuyerView[Checkout]):
    """Checkouts of the signed-in account."""

    queryset = Checkout.objects.all()
    serializer_class = CheckoutSerializer
    lookup_field = "reference"
    account = "user"
    statuses = tuple(Checkout.Status.values)

    def get_queryset(self) -> QuerySet[Checkout]:
        """With the order that paid for each, but not its document."""
        return super().get_queryset().select_related("paid_order").defer("paid_order__document")


class OrderView(BuyerView[Order]):
    """Orders bound to checkouts of the signed-in account."""

    queryset = Order.objects.all()
    serializer_class = OrderSerializer
    lookup_field = "order_id"
    account = "checkout__user"
    statuses = tuple(status.value for status in OrderStatus)

    def get_queryset(self) -> QuerySet[Order]:
        """With what is shown of each; `personal_data` would else be asked for when the document is put together."""
        shown = super().get_queryset().select_related("checkout", "personal_data").prefetch_related("items")
        return shown.annotate(is_paid=Exists(Order.objects.paid().filter(pk=OuterRef("pk"))))


@method_decorator(outside_transactions, name="dispatch")  # a sale is committed before the service is called
class CheckoutList(CheckoutView, generics.ListAPIView[Checkout]):
    """GET: the buyer's checkouts. POST: a new one, whose price the shop's hook decides."""

    def paginate_queryset(self, queryset: Any) -> Any:
        """A page, after what is stored for its checkouts was applied."""
        page = super().paginate_queryset(queryset)
        if not page or not flows.apply_for(page):
            return page
        processing = {each.pk for each in page if each.processing}
        page = super().paginate_queryset(queryset)
        for each in page or ():
            each.processing = each.pk in processing
        return page

    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Sells what ``Hooks.build_checkout`` makes of the body; send the customer to ``payment_form_url``.

        The sale is always that of the signed-in account, whatever the hook says.
        """
        project = self.kwargs.get("project", "default")
        django_request = request._request  # noqa: SLF001  # the hook is promised Django's request; there is no other way to it
        assert isinstance(request.data, dict)  # StrictJSONParser reads nothing else
        hooks = load_hooks(app_settings().project(project).hooks)
        wanted = hooks.build_checkout(django_request, request.data)
        checkout = flows.create_checkout(
            **{"project": project, "request": django_request, **wanted, "user": request.user}
        )
        return Created(self.get_serializer(checkout).data, status=201)


@method_decorator(outside_transactions, name="dispatch")
class CheckoutDetail(CheckoutView, generics.RetrieveAPIView[Checkout]):
    """GET: one of the buyer's checkouts, by its reference."""

    def get_object(self) -> Checkout:
        """The checkout, after what is stored for it was applied. Raises ``Http404``."""
        return brought_up_to_date(super().get_object())


class OrderList(OrderView, generics.ListAPIView[Order]):
    """GET: the buyer's orders."""


class OrderDetail(OrderView, generics.RetrieveAPIView[Order]):
    """GET: one of the buyer's orders, by the service's id."""


class Created(HandingOver, Response):
    """A sale was made: a notification that came before the service's answer may have left something to hand over."""
