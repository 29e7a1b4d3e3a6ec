"""The table of hats, also where tables are made by migrations alone."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Make it."""

    initial = True
    dependencies = [("checkout_integration", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="Hat",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "checkout",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="checkout_integration.checkout",
                    ),
                ),
            ],
        )
    ]
