"""The filtered list as a CSV file: a link of each list, which needs the permission to see the list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBadRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from checkout_integration.admin.site.csv_files import csv_response, rows_in_chunks
from checkout_integration.admin.site.fields import ReadOnly

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:  # it cannot be subscripted at run time
    ModelAdmin = admin.ModelAdmin

HIDDEN: Final = "hidden"
OF_PERSONAL_DATA: Final = "personal_data__"


class DownloadableList(ReadOnly, ModelAdmin):
    """A list whose filtered rows can be downloaded as CSV: all of them, not one page."""

    csv_columns: Sequence[str] = ()
    """The columns of the file, by their names in the database; a relation's with two underscores."""

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the screen, and that of the file."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_csv"
        return [path("csv/", self.admin_site.admin_view(self.csv_view), name=name), *super().get_urls()]

    def csv_view(self, request: HttpRequest) -> HttpResponseBase:
        """Send the rows of the list, with the filters and the search of its address. GET only: it changes nothing."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        if "\0" in request.GET.get(SEARCH_VAR, ""):  # the list says so, and is not searched
            return HttpResponseBadRequest()
        try:
            changelist = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return HttpResponseBadRequest()
        masked = self._masked(request)
        if request.method == "GET" and not masked and self._personal_columns():
            self._log_download(request, changelist)
        rows = self._csv_rows(changelist, masked)
        return csv_response(request, str(self.opts.model_name), rows)

    def _personal_columns(self) -> list[str]:
        return [
            name
            for name in self.csv_columns
            if name in self.personal_fields or name.startswith(OF_PERSONAL_DATA)
        ]

    def _masked(self, request: HttpRequest) -> frozenset[str]:
        """Return the columns that this viewer may not see."""
        sees = self.viewer(request).sees_personal_data
        return frozenset() if sees else frozenset(self._personal_columns())

    def _csv_rows(self, changelist: ChangeList, masked: frozenset[str]) -> Iterator[Sequence[Any]]:
        yield self.csv_columns
        for values in rows_in_chunks(changelist.queryset, self.csv_columns):
            yield [
                HIDDEN if name in masked and value else value
                for name, value in zip(self.csv_columns, values, strict=True)
            ]

    def _log_download(self, request: HttpRequest, changelist: ChangeList) -> None:
        """Write into Django's log that personal data were downloaded, and by which filters.

        Not by which values: they may be personal data, and the entry belongs to no row that could be erased.
        """
        filters = sorted(name for name, value in changelist.get_filters_params().items() if value)
        searched = ["search"] if changelist.query else []
        assert isinstance(request.user, AbstractBaseUser)
        LogEntry.objects.create(
            user_id=request.user.pk,
            content_type=ContentType.objects.get_for_model(self.model, for_concrete_model=False),
            object_repr=str(self.opts.verbose_name_plural),
            action_flag=CHANGE,
            change_message=f"CSV with personal data. Filters: {', '.join([*filters, *searched]) or 'none'}",
        )
