"""The JSON control API under /_sandbox/, for the operator's page, tests and scripts.

- `control_views`: orders, projects, clock, faults, testing cases, run log; the acts on an order
"""
