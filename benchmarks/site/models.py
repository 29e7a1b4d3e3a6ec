"""What "verify + one ORM INSERT" and COPY store."""

from __future__ import annotations

from django.db import models


class StoredBody(models.Model):
    """A body as it came."""

    body = models.TextField()
    digest = models.CharField(max_length=64)
    received_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest


class CopiedOrder(models.Model):
    """An order of the transaction list as it came, with what a shop looks for."""

    order_id = models.CharField(max_length=64, primary_key=True)
    created_at = models.DateTimeField()
    status = models.CharField(max_length=16)
    amount = models.DecimalField(max_digits=19, decimal_places=4)
    currency = models.CharField(max_length=3)
    document = models.JSONField()

    def __str__(self) -> str:
        return self.order_id
