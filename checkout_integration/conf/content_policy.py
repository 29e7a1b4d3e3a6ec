"""The content security policies that the shop's middleware sends: Django's own, and django-csp's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.conf import settings

DJANGO: Final = "django.middleware.csp.ContentSecurityPolicyMiddleware"
DJANGO_CSP: Final = "csp.middleware.CSPMiddleware"
DIRECTIVES: Final = (
    *("default-src", "child-src", "frame-src", "script-src", "script-src-elem", "connect-src", "form-action"),
)
"""Those that decide whether the form is shown."""


def sent_policies() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each policy that browsers obey, with the name of its setting; one that only reports is none."""
    if DJANGO in settings.MIDDLEWARE and (policy := _mapping("SECURE_CSP")):
        yield "SECURE_CSP", policy
    if DJANGO_CSP not in settings.MIDDLEWARE:
        return
    if policy := _mapping("CONTENT_SECURITY_POLICY"):
        yield 'CONTENT_SECURITY_POLICY["DIRECTIVES"]', policy.get("DIRECTIVES") or {"default-src": ["'self'"]}
    elif (old := _old_settings()) and not getattr(settings, "CSP_REPORT_ONLY", False):
        yield "CSP_DEFAULT_SRC and the like", old


def _mapping(name: str) -> Mapping[str, Any]:
    value = getattr(settings, name, None)
    return value if isinstance(value, Mapping) else {}


def _old_settings() -> dict[str, Any]:
    """Return the policy of django-csp before 4.0, which has a setting for each directive."""
    names = {each: f"CSP_{each.upper().replace('-', '_')}" for each in DIRECTIVES}
    return {
        directive: getattr(settings, name) for directive, name in names.items() if hasattr(settings, name)
    }
