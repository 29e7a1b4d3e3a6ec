"""The columns that say where a customer came from."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from checkout_integration.models.columns import IdentifierField
from checkout_integration.models.row import Row


class Attributed(Row):
    """A row of a customer who came from somewhere: a campaign, or a page of another host."""

    utm_source = IdentifierField(
        blank=True, default="", help_text=_("Who sent the customer, such as a newsletter.")
    )
    utm_medium = IdentifierField(blank=True, default="", help_text=_("By what, such as email."))
    utm_campaign = IdentifierField(blank=True, default="", help_text=_("For which campaign."))
    referrer_host = IdentifierField(blank=True, default="", help_text=_("Host of the page before."))

    class Meta:
        abstract = True

    @property
    def origin(self) -> str:
        """Where the customer came from, in one line; "" where nothing is known."""
        campaign = " / ".join(filter(None, (self.utm_source, self.utm_medium, self.utm_campaign)))
        return " · ".join(filter(None, (campaign, self.referrer_host)))
