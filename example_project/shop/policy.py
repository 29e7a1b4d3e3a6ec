"""The shop's content security policy, sent with every page. From Django 6.0 on, its own middleware and SECURE_CSP do this."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse


class ContentPolicyMiddleware:
    """Sends CONTENT_POLICY, with a nonce of its own for each page; the template tags put ``request.csp_nonce`` on scripts."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answers with the policy in a header."""
        nonce = request.csp_nonce = secrets.token_urlsafe(16)  # type: ignore[attr-defined]  # as Django 6 names it
        response = self._get_response(request)
        policy: dict[str, list[str]] = settings.CONTENT_POLICY  # type: ignore[misc]  # the shop's own setting
        policy = {**policy, "script-src": [*policy["script-src"], f"'nonce-{nonce}'"]}
        response["Content-Security-Policy"] = "; ".join(f"{name} {' '.join(policy[name])}" for name in policy)
        return response
