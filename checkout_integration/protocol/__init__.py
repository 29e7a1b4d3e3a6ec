"""The service's specification as pure Python: no Django, no clock, no network, no settings."""
