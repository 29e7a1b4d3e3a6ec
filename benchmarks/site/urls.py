"""Addresses of the site, and the two views that everything is compared with."""

from __future__ import annotations

import hashlib
import hmac

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from benchmarks.product import SECRET
from benchmarks.site.models import StoredBody


@csrf_exempt
def bare(request: HttpRequest) -> HttpResponse:
    """Read the body and answer: what Django costs."""
    return HttpResponse(status=200 if request.body else 400)


@csrf_exempt
def insert(request: HttpRequest) -> HttpResponse:
    """Verify the signature and store the body by one INSERT: what nobody can do without."""
    digest = hashlib.sha256(request.body + SECRET.encode()).hexdigest()
    if not hmac.compare_digest(f"Signature {digest}", request.headers.get("Authorization", "")):
        return HttpResponse(status=401)
    StoredBody(body=request.body.decode(), digest=digest).save(force_insert=True)
    return HttpResponse()


urlpatterns = [
    path("admin/", admin.site.urls),
    path("bare/", bare),
    path("insert/", insert),
    path("checkout/", include("checkout_integration.urls")),
]
if apps.is_installed("djstripe"):
    urlpatterns += [path("stripe/", include("djstripe.urls", namespace="djstripe"))]
