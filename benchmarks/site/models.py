"""What "verify + one ORM INSERT" stores."""

from __future__ import annotations

from django.db import models


class StoredBody(models.Model):
    """A body as it came."""

    body = models.TextField()
    digest = models.CharField(max_length=64)
    received_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest
