"""What is for sale, and who owns what."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from checkout_integration.models import Checkout


class Product(models.Model):
    """A thing for sale. ``slug`` is its identifier at the service."""

    class Kind(models.TextChoices):
        """How it is sold: the specification's order types."""

        GEMS = "simple", _("Gems")
        KEY = "key", _("Game key")
        ITEM = "product", _("Virtual item")

    slug = models.SlugField(unique=True)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    name = models.CharField(max_length=64)
    text = models.CharField(max_length=255)
    price = models.DecimalField(max_digits=9, decimal_places=2)
    currency = models.CharField(max_length=3)
    art = models.CharField(max_length=32, help_text="Name of its picture.")

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the address of the product's page."""
        return reverse("product", args=[self.slug])


class InventoryItem(models.Model):
    """Something a player owns because a checkout was paid. One checkout grants one item, however often the signal is sent."""

    checkout = models.OneToOneField(Checkout, on_delete=models.CASCADE, related_name="inventory_item")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="inventory")
    product = models.ForeignKey(Product, on_delete=models.PROTECT)
    code = models.CharField(max_length=64, blank=True, help_text="Activation code of a game key.")
    granted_at = models.DateTimeField(auto_now_add=True)
    taken_back_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-granted_at"]

    def __str__(self) -> str:
        return f"{self.product} of {self.owner}"
