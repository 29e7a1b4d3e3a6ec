"""The product and the admin, as the README says, or both under a language; and the tests' own desk."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

from tests.stress.hosts import desk
from tests.stress.hosts.settings import HOST

pages = [
    path("admin/", admin.site.urls),
    path("checkout/", include("checkout_integration.urls")),
    path("rest/", include("checkout_integration.api.urls")),
]
urlpatterns = [
    path("desk/", desk.look),
    path("desk/count/", desk.count),
    path("desk/sell/", desk.sell),
    path("desk/hire/", desk.hire),
    path("desk/replicate/", desk.replicate),
    path("desk/bare/", desk.bare),
    *(i18n_patterns(*pages) if HOST.prefix else pages),
]
