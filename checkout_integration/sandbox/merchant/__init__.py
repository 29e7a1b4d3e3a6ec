"""The merchant's data at the service: projects with their settings, products, currencies.

- `project`: one project: its settings, and which values it refuses
- `projects`: the registry of all projects
- `project_files`: projects and products read from files
- `catalogue`: the products for sale
- `currencies`: ISO 4217: decimals, rounding, display
"""

from __future__ import annotations

from checkout_integration.sandbox.merchant.catalogue import Product, activation_code, find_product
from checkout_integration.sandbox.merchant.currencies import (
    display_money,
    is_chargeable,
    is_currency,
    round_money,
    smallest_unit,
)
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.merchant.project_files import catalogue_at, read_projects
from checkout_integration.sandbox.merchant.projects import Projects

__all__ = [
    "Product",
    "Projects",
    "SandboxProject",
    "activation_code",
    "catalogue_at",
    "display_money",
    "find_product",
    "is_chargeable",
    "is_currency",
    "read_projects",
    "round_money",
    "smallest_unit",
]
