"""What the service's specification says, as pure Python: no Django, no clock, no network, no settings."""
