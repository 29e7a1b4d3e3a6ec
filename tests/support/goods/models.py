"""What a customer of the tests owns."""

from __future__ import annotations

from django.db import models

from checkout_integration.models import Checkout


class Hat(models.Model):
    """A hat that was sold by a checkout, and goes with it."""

    checkout = models.ForeignKey(Checkout, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"hat {self.pk}"
