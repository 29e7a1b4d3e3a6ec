"""A read-only screen of the admin: a list, and one page per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.display import short
from checkout_integration.admin.page import Page
from checkout_integration.admin.paging import BoundedPaginator
from checkout_integration.admin.search import within
from checkout_integration.admin.viewer import Viewer

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    ModelAdmin = admin.ModelAdmin[Any]
else:  # ModelAdmin cannot be subscripted at run time
    ModelAdmin = admin.ModelAdmin


class Screen(ModelAdmin):
    """Nothing is added, changed or deleted here. A subclass says what its list shows, and what `page` of a row shows."""

    actions: Sequence[Any] | None = None
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 50
    paginator = BoundedPaginator
    # By key, not by a time that may be null: the same on every database, and served by the table's own index.
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    empty_value_display = "–"

    unlisted: Sequence[str] = ()
    """Large columns that the list does not read."""
    related: Sequence[str] = ()
    """Relations that the page of a row shows."""
    when_empty: StrOrPromise = _(
        "Nothing here yet. To make the first order, start the sandbox with "
        "“python -m checkout_integration.sandbox” and buy something in your shop; the README shows how."
    )
    """What an empty list teaches."""

    class Media:
        """The styles of lists and pages."""

        css = {"all": ("checkout_integration/admin.css",)}

    def page(self, viewer: Viewer, row: Any) -> Page:
        """What the page of a row shows."""
        raise NotImplementedError

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Rows come from the service and from flows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """State is written by flows only."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """What was recorded stays."""
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only the filters of this list: any other lookup in the address would let staff probe masked columns."""
        return lookup.partition("__")[0] in map(_parameter, self.list_filter)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows of the list, without their large columns."""
        return super().get_queryset(request).defer(*self.unlisted)

    def search_conditions(self, text: str) -> list[Q]:
        """What a text in the search box may be: each an exact look-up in an index."""
        return []

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The rows that the text names, as it is: it is not taken apart into words."""
        text = search_term.strip()
        # A screen without a search box can be asked all the same, by its address.
        conditions = self.search_conditions(text) if text else []
        return (within(queryset, conditions) if conditions else queryset), False

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of one row."""
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        row = self.find(request, object_id)
        if row is None:
            return self.not_found(request, object_id)
        context = {
            "page": self.page(self.viewer(request), row),
            **self.context(request, row),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/checkout_integration/page.html", context)

    def find(self, request: HttpRequest, object_id: str) -> Any:
        """The row of a page, None when there is none. Raises ``PermissionDenied`` where the viewer may not see it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            key = self.opts.pk.to_python(unquote(object_id))
        except ValidationError:
            return None
        rows = self.model._default_manager.filter(pk=key)
        return (rows.select_related(*self.related) if self.related else rows).first()

    def not_found(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Back to the start, with a message."""
        return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined,no-any-return]

    def viewer(self, request: HttpRequest) -> Viewer:
        """Who looks."""
        return Viewer(request.user, self.admin_site.name)

    def context(self, request: HttpRequest, row: Model) -> dict[str, Any]:
        """What every page of a row needs."""
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": row,
            "heading": short(row),
            "title": f"{str(self.opts.verbose_name).capitalize()} {short(row)}",
            "media": self.media,
        }


def _parameter(each: Any) -> str:
    """What a filter is called in the address: (column, class), or a class with a name of its own."""
    name: str = each[0] if isinstance(each, tuple) else each.parameter_name
    return name
