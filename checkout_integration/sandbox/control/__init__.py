"""The JSON control API under /_sandbox/, for the operator's page, tests and scripts.

- `control_views`: orders, projects, clock, faults, testing cases, run log
- `control_request`: the body of a request: every name and value is checked
"""
