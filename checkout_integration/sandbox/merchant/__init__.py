"""The merchant's data at the service: projects with their settings, products, currencies.

- `project`: one project: its settings, and which values it refuses
- `projects`: the registry of all projects
- `project_files`: projects and products read from files
- `catalogue`: the products for sale
- `currencies`: ISO 4217: decimals, rounding, display
"""
