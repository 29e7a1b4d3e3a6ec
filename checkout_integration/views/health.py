"""The health for monitors: JSON, 200 unless something is failing, for staff with a permission and for HEALTH_TOKEN."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import PermissionsMixin
from django.http import Http404, HttpRequest, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from checkout_integration import flows
from checkout_integration.conf import SHORTEST_SECRET, UnknownAlias, app_settings
from checkout_integration.flows.operations import Finding, Health, Severity
from checkout_integration.policy.log_safety import error_location
from checkout_integration.views.transactions import outside_transactions

logger = logging.getLogger("checkout_integration.health")

PERMISSION = "checkout_integration.view_health"


@require_safe
@never_cache
@login_not_required  # a monitor has a token and no account
@outside_transactions  # it says so itself when the database does not respond
def health(request: HttpRequest, project: str | None = None) -> JsonResponse:
    """Return the health of all projects, or of one: 503 if something is failing, else 200; never personal data."""
    if not _has_token(request) and (refusal := _refusal(request)) is not None:
        return refusal
    try:
        found = flows.operations.health(project)
    except UnknownAlias:
        raise Http404("There is no such project here.") from None
    answer = JsonResponse(_document(found), status=503 if found.severity == Severity.FAILING else 200)
    # Django logs each 503 as an error, which mails ADMINS: a monitor that asks every ten seconds would fill their mailboxes.
    answer._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001  # Django has no public way
    return answer


def _has_token(request: HttpRequest) -> bool:
    scheme, _blank, given = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "bearer":
        return False
    try:
        secret = app_settings().health_secret
        token = secret.reveal() if secret else ""
        if len(token) < SHORTEST_SECRET:  # a callable may return an empty text, which anybody can send
            return False
    except Exception as error:  # noqa: BLE001  # a setting's callable may raise anything
        logger.error("HEALTH_TOKEN cannot be read: %s", error_location(error))
        return False
    # In constant time: how long it takes must not show how much of it is right.
    return constant_time_compare(given.strip(), token)


def _refusal(request: HttpRequest) -> JsonResponse | None:
    """Return the response that refuses a request without a valid token; None if it comes from staff with the permission."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        body = {
            "code": "UNAUTHORIZED",
            "message": "Send HEALTH_TOKEN as a bearer token, or log in as staff.",
            "details": "",
        }
        return JsonResponse(body, status=401, headers={"WWW-Authenticate": "Bearer"})
    is_staff = getattr(user, "is_staff", False) and isinstance(user, PermissionsMixin)
    if is_staff and user.has_perm(PERMISSION):
        return None
    body = {"code": "FORBIDDEN", "message": f"The permission {PERMISSION} is missing.", "details": ""}
    return JsonResponse(body, status=403)


def _document(found: Health) -> dict[str, Any]:
    return {
        "severity": found.severity.value,
        "checked_at": found.checked_at.isoformat(),
        "projects": [{"alias": each.alias, "test": each.test} for each in found.projects],
        "findings": [_finding(each) for each in found.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "project": finding.project,
        "severity": finding.severity.value,
        "text": finding.text,
        "action": finding.action,
        "link": finding.link,
        "figures": dict(finding.figures),
    }
