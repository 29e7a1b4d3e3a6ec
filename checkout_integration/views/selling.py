"""A view of the shop that sells something to the customer who is logged in."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.mixins import AccessMixin
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache

from checkout_integration import flows
from checkout_integration.display import csp_nonce, form_link
from checkout_integration.hooks import CheckoutTerms
from checkout_integration.models import Checkout
from checkout_integration.views.returning import return_link
from checkout_integration.views.transactions import outside_transactions

logger = logging.getLogger("checkout_integration.selling")


# Who may buy is decided by `dispatch`; Django's own middleware would send guests away before.
@method_decorator((never_cache, login_not_required, outside_transactions), name="dispatch")
class SellMixin(AccessMixin, View):
    """Sell by POST to the account that is logged in, and lead the customer to the form: override `get_terms`.

    It works with ATOMIC_REQUESTS, and a double click sells once (of a guest, if the terms have an ``idempotency_key``). Its
    form needs Django's ``{% csrf_token %}``.
    """

    http_method_names = ["post", "options"]
    guests = False
    """Whether it sells to whoever is not logged in, too."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Send a guest to LOGIN_URL, unless it sells to guests."""
        if not self.guests and not request.user.is_authenticated:
            return self.handle_no_permission()
        return super().dispatch(request, *args, **kwargs)

    def get_terms(self) -> CheckoutTerms:
        """Return what is sold: arguments of ``flows.create_checkout``. Never take a price from the request: look it up."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it sells: override get_terms.")

    def get_arguments(self) -> CheckoutTerms:
        """Return all arguments: the terms, the request, and where the customer came from."""
        page = self.request.META.get(
            "HTTP_REFERER", ""
        )  # the page with the button, whose address may name a campaign
        return {"request": self.request, "attribution": flows.Attribution.of_visit(page), **self.get_terms()}

    def create(self) -> Checkout:
        """Create the checkout. Raises ``CheckoutError``, and ``CreationError`` for terms that cannot be sold."""
        return flows.create_checkout(user=self.request.user, **self.get_arguments())

    def created(self, checkout: Checkout) -> HttpResponseBase:
        """Return the response that leads to the form, or to the return page where there is nothing left to pay."""
        return redirect(form_link(checkout) or return_link(checkout))

    def not_created(self, error: flows.CheckoutError | flows.CreationError) -> HttpResponseBase:
        """Return the response where there is no form: ``error`` says whether the service made an order all the same."""
        blocked = isinstance(error, flows.CustomerBlocked)
        context = {"error": error, "blocked": blocked, "csp_nonce": csp_nonce(self.request)}
        status = 403 if blocked else 503
        return render(self.request, "checkout_integration/not_created.html", context, status=status)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Sell. An order that could not be recorded has its form all the same."""
        try:
            return self.created(self.create())
        except flows.NotRecorded as error:
            return self.created(error.checkout)
        except flows.CreationError as error:
            # The terms, and not the service: the customer can do nothing about it, so engineers read it.
            logger.error("%s sells nothing: %s", type(self).__qualname__, error)
            return self.not_created(error)
        except flows.CheckoutError as error:
            logger.warning(
                "%s sells nothing: %s", type(self).__qualname__, f"{type(error).__name__}: {error}"
            )
            return self.not_created(error)
