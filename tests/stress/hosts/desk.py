"""The back door by which a test acts in the host's own process and reads what it knows. No part of the product."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt

from checkout_integration.flows import create_checkout
from checkout_integration.flows.checkout.return_page import signed_reference
from checkout_integration.models import Notification, Order, ReceiverRun
from tests.stress.hosts import replica, shop

PRICE = Decimal("1234.50")
STAFF, PASSWORD = "sam@example.com", "sam-helps"


@login_not_required
def look(request: HttpRequest) -> JsonResponse:
    """What is stored."""
    state = {
        "notifications": list(Notification.objects.using("default").values("object_id", "state", "receipts")),
        "orders": list(
            Order.objects.using("default").values("pk", "order_id", "status", "transitions__to_status")
        ),
        "runs": list(ReceiverRun.objects.using("default").values_list("state", flat=True)),
        "goods": list(Group.objects.using("default").values_list("name", flat=True)),
    }
    return JsonResponse(state)


@login_not_required
@transaction.non_atomic_requests
def count(request: HttpRequest) -> JsonResponse:
    """The number of statements so far, and of requests under way but this one; asking costs no statement."""
    return JsonResponse({"statements": len(shop.statements), "under_way": len(shop.under_way) - 1})


@csrf_exempt
@login_not_required
@transaction.non_atomic_requests  # a checkout is committed before the service is called
def sell(request: HttpRequest) -> JsonResponse:
    """One checkout at the service."""
    checkout = create_checkout(amount=PRICE, currency="USD", request=request)
    signed = signed_reference(checkout.reference)
    return JsonResponse(
        {
            "order_id": checkout.order_id,
            "reference": checkout.reference,
            "return": reverse("checkout_integration:return", args=[signed]),
            "status": reverse("checkout_integration:status", args=[signed]),
        }
    )


@csrf_exempt
@login_not_required
def hire(request: HttpRequest) -> JsonResponse:
    """A superuser; gives the address of the admin."""
    accounts = get_user_model()
    named = {accounts.USERNAME_FIELD: STAFF}
    if not accounts._default_manager.filter(**named).exists():
        accounts._default_manager.create_superuser(**named, password=PASSWORD)
    return JsonResponse({"admin": reverse("admin:index")})


@csrf_exempt
@login_not_required
def replicate(request: HttpRequest) -> JsonResponse:
    """Lets the replica catch up."""
    replica.catch_up()
    return JsonResponse({})


@csrf_exempt
@login_not_required
def bare(request: HttpRequest) -> HttpResponse:
    """Read the body and respond: the least that a view costs."""
    return HttpResponse(b"", status=200 if request.body else 400)
