"""The viewer of a page: visible fields and links."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth import get_permission_codename
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from checkout_integration.admin.site.cells import breakable
from checkout_integration.admin.site.values import NOTHING, hidden, link, short


@dataclass(frozen=True)
class Viewer:
    """A member of staff, and the admin site in use (a project may have several)."""

    user: AbstractBaseUser | AnonymousUser
    site_name: str

    def may(self, permission: str) -> bool:
        """Return whether they have a permission of this app, by its codename."""
        has_permissions = isinstance(self.user, (PermissionsMixin, AnonymousUser))
        return has_permissions and self.user.has_perm(f"checkout_integration.{permission}")  # type: ignore[union-attr]

    @property
    def sees_personal_data(self) -> bool:
        """Whether e-mail addresses, names, cards and raw bodies are shown to them."""
        return self.may("view_personal_data")

    def personal_link(self, address: str | None, *, loopback: bool = False) -> str | SafeString:
        """Return a link to personal data for those who may see it; "–" for no address."""
        return link(address, loopback=loopback) if self.sees_personal_data or not address else hidden()

    def link(self, model: type[Model], primary_key: object, text: object) -> str | SafeString:
        """Return a link to a row's page where they may view it, else its text; "–" for no row."""
        if primary_key is None:
            return NOTHING
        # This app's pages only: the shop's own models have no page, or one that is not ours to link.
        ours = model._meta.app_label == "checkout_integration"
        if not ours or not self.may(get_permission_codename("view", model._meta)):
            return short(text)
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        address = reverse(name, args=(primary_key,), current_app=self.site_name)
        return format_html('<a href="{}">{}</a>', address, breakable(short(text)))
