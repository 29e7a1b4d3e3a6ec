"""The name under which sums of money are found in the admin."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from checkout_integration.models.order import Order


class Money(Order):
    """The orders as money: the admin's page of sums. It has no table of its own."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = _("money")
        verbose_name_plural = _("money")
        permissions = [("view_money", _("Can see sums of money"))]
