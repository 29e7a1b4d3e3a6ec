"""Read-only screens: a list, a page per row, and tables of related rows, all in Django's own way to declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model, Q, QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from checkout_integration import flows
from checkout_integration.admin.site.fields import ReadOnly, ViewedField, Viewer
from checkout_integration.admin.site.labels import Text
from checkout_integration.admin.site.large_tables import BoundedPaginator, of_account, within
from checkout_integration.admin.site.values import Value, short
from checkout_integration.models import StaffAct
from checkout_integration.views.transactions import outside_transactions

NEWEST: Final = 50
"""Rows of a related table that a page shows."""


class ReadOnlyAdmin(ReadOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    """A list, and a page per row."""

    actions: Sequence[Any] | None = None
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 50
    paginator = BoundedPaginator
    # By key, not by a time that may be null: the same on every database, and served by the table's own index.
    ordering: ClassVar[tuple[Any, ...]] = ("-pk",)

    list_deferred: Sequence[str] = ()
    """Large columns that the list does not read."""
    searched_accounts: Sequence[str] = ()
    """The relation to an account, by whose login name those may search who may see personal data."""
    page_related: Sequence[str] = ()
    """Relations that the page of a row shows."""
    rows_are_called: Text = ""
    """The plural of the rows below the list, where the model's own is the name of a page."""
    when_empty: Text = _(
        "Nothing here yet. To make the first order, start the sandbox with “python manage.py checkout_sandbox” and buy "
        "something in your shop; docs/quickstart.md shows how."
    )
    """The text of an empty list."""

    class Media:
        """The styles of lists and pages."""

        css = {"all": ("checkout_integration/admin.css",)}

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the screen. The acts of staff are a list of their own, not a page of each row."""
        return [url for url in super().get_urls() if url.name != self.address_name("history")]

    def page(
        self, route: str, view: Callable[..., Any], name: str, *, needs: str = "", calls_service: bool = False
    ) -> URLPattern:
        """Return an address of the screen for those who may view it, and have the permission ``needs``.

        ``calls_service``: its view is never inside a transaction of the request.
        """

        def permitted(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if not self.has_view_permission(request) or (needs and not self.viewer(request).may(needs)):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        page = self.admin_site.admin_view(permitted)
        return path(
            route, outside_transactions(page) if calls_service else page, name=self.address_name(name)
        )

    def record(self, request: HttpRequest, act: StaffAct.Act, **about: Any) -> None:
        """Record what the viewer looks up."""
        assert isinstance(request.user, AbstractBaseUser)
        with flows.operations.acting_from(StaffAct.Origin.ADMIN):
            flows.operations.record_staff_act(act, request.user, **about)

    def address_name(self, page: str) -> str:
        """Return the name of an address of the screen."""
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def address_of(self, page: str, row: Model | None = None) -> str:
        """Return an address of the screen, or of a row."""
        args = () if row is None else (row.pk,)
        return reverse(f"admin:{self.address_name(page)}", args=args, current_app=self.admin_site.name)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow the filters of this list only: any other lookup in the address would let staff probe masked columns."""
        # One that is a pair (column, class) has the lookups of its column.
        columns = [choice[0] for choice in self.list_filter if isinstance(choice, tuple)]
        own: list[Any] = [choice for choice in self.list_filter if not isinstance(choice, tuple)]
        return lookup.partition("__")[0] in columns or any(
            lookup in each.expected_parameters() for each in own
        )

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns of the list."""
        viewer = self.viewer(request)
        return [ViewedField(self, str(name), viewer, in_list=True) for name in self.list_display]

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the list, with the chosen filters in words. Nothing is selected to be viewed, so its title is its name."""
        changelist: Any = super().get_changelist_instance(request)
        changelist.title = capfirst(str(self.opts.verbose_name_plural))
        changelist.chosen = list(_chosen(changelist))
        if not changelist.multi_page:  # their keys are known, and Django would look for them again
            changelist.result_list = changelist.paginator.page(1).object_list
        if not (changelist.query or changelist.has_active_filters):  # "Show all" would lead here
            changelist.full_result_count = changelist.result_count
        return changelist  # type: ignore[no-any-return]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the list, without their large columns."""
        return super().get_queryset(request).defer(*self.list_deferred)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows of which a search field is exactly this text; it is not split into words.

        A list without a search box can be searched by its address all the same: it finds nothing.
        """
        text = search_term.strip()
        if not text:
            return queryset, False
        conditions = self.search_conditions(self.viewer(request), text)
        is_usable = conditions and "\0" not in text  # PostgreSQL refuses to look for such a text
        return (within(queryset, conditions) if is_usable else queryset.none()), False

    def search_conditions(self, viewer: Viewer, text: str) -> list[Q]:
        """Return the conditions of which a row meets one. Without the permission, each hit would confirm a guess."""
        conditions = [Q((str(name), text)) for name in self.search_fields]
        if self.searched_accounts and viewer.sees_personal_data:
            conditions += of_account(text, *self.searched_accounts)
        return conditions

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row of a page with all its columns; None where there is none."""
        try:
            key = self.opts.pk.to_python(object_id)
        except ValidationError:
            return None
        rows = self.model._default_manager.filter(pk=key)
        return (rows.select_related(*self.page_related) if self.page_related else rows).first()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list."""
        return super().changelist_view(request, {**(extra_context or {}), **self.list_context(request)})

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the page of the list shows beside it."""
        return {}

    @method_decorator(require_safe)
    def change_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the page of one row."""
        return super().change_view(request, *args, **kwargs)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add what every page of a row needs."""
        context |= self.page_context(request, kwargs["obj"])
        return super().render_change_form(request, context, *args, **kwargs)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return the heading of a row's page and the note on top of it."""
        heading = short(self.row_name(row))
        return {
            "heading": heading,
            "title": f"{capfirst(self.opts.verbose_name)} {heading}",
            "subtitle": None,
            "note": self.note(self.viewer(request), row),
        }

    def row_name(self, row: Any) -> Text:
        """Return the name of a row on top of its page."""
        return str(row)

    def note(self, viewer: Viewer, row: Any) -> Value:
        """Return the note on top of the page: erased or hidden parts, and the permission that shows these."""
        if getattr(getattr(row, "personal_data", row), "erased_at", None):
            return _("The personal data of this customer was erased.")
        if not self.personal_fields or viewer.sees_personal_data:
            return ""
        return _("Personal data is hidden: you need the permission “Can see personal data of customers”.")


class ReportAdmin(ReadOnlyAdmin):
    """A page about many rows in the place of their list, and perhaps a file; a row has no page."""

    title: Text = ""
    template = ""
    """The page; "" where a list is part of it."""
    view_permission = ""
    """Of a page about no table of its own."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the viewer may see the page."""
        if self.view_permission:
            return self.viewer(request).may(self.view_permission)
        return super().has_view_permission(request, obj)

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the page, which has the name of a list, and of the file."""
        return [url for url in super().get_urls() if str(url.name).endswith(("_changelist", "_csv"))]

    @method_decorator(require_safe)
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the page, for those who may view it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if not self.template:
            return super().changelist_view(request, {"title": self.title, **(extra_context or {})})
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": self.title,
            **(extra_context or {}),
            **self.list_context(request),
        }
        return TemplateResponse(request, f"admin/checkout_integration/{self.template}", context)


class NewestFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """The newest rows of a related table: a customer may have thousands of orders."""

    def get_queryset(self) -> QuerySet[Any]:
        """Return the newest rows; the database is read once."""
        if not hasattr(self, "_newest"):
            self._newest = super().get_queryset()[:NEWEST]
        return self._newest


class ReadOnlyInline(ReadOnly, admin.TabularInline):  # type: ignore[type-arg]
    """A table of related rows on the page of a row, for those who may view them."""

    template = "admin/checkout_integration/inline.html"
    formset = NewestFormSet
    explains_states = False
    ordering: ClassVar[tuple[Any, ...]] = ("-pk",)
    extra = 0
    max_num = 0


def _chosen(changelist: ChangeList) -> Iterator[str]:
    """Yield the choices of the filters; the first one of each is "all"."""
    for spec in changelist.filter_specs:
        choices: list[Any] = list(spec.choices(changelist))
        yield from (str(choice["display"]) for choice in choices[1:] if choice.get("selected"))
        yield from (str(choice["value"]) for choice in choices if choice.get("value"))
