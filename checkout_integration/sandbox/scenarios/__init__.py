"""Stories of the service, played to a shop's receiver. The stories are the YAML files in this folder.

- `command`: `python -m checkout_integration.sandbox play`
- `verbs`: `python -m checkout_integration.sandbox do`, one act at a sandbox that runs
"""
