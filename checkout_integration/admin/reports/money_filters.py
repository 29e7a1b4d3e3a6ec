"""The filters of the page about money: a form that is sent by GET, so that each page has an address to keep."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.accounting import (
    MOST_DAYS,
    Dimension,
    Mode,
    MoneyQuery,
    Period,
    usual_mode,
)

USUAL_DAYS: Final = 30
DIMENSIONS: Final = {
    Dimension.DAY: gettext_lazy("day"),
    Dimension.METHOD: gettext_lazy("payment method"),
    Dimension.COUNTRY: gettext_lazy("country"),
    Dimension.VAT: gettext_lazy("rate and payer of VAT"),
}
MODES: Final = {
    Mode.LIVE: gettext_lazy("live"),
    Mode.TEST: gettext_lazy("test"),
    Mode.UNKNOWN: gettext_lazy("mode unknown"),
}
ON_PAYMENT_DAY: Final = "payment"
REVERSALS: Final = {
    "": gettext_lazy("the day on which they happened"),
    ON_PAYMENT_DAY: gettext_lazy("the day of their payment"),
}


class DateInput(forms.DateInput):
    """A field of a day, as browsers know it."""

    input_type = "date"

    def __init__(self) -> None:
        """Write the day in the form that browsers read, whatever the language."""
        super().__init__(format="%Y-%m-%d")


class MoneyForm(forms.Form):
    """What to sum. Without any filter: the live money of the last 30 days, by day."""

    first = forms.DateField(label=gettext_lazy("First day"), widget=DateInput(), required=False)
    last = forms.DateField(label=gettext_lazy("Last day"), widget=DateInput(), required=False)
    currency = forms.CharField(label=gettext_lazy("Currency"), max_length=8, required=False)
    project = forms.ChoiceField(label=gettext_lazy("Project"), required=False)
    mode = forms.ChoiceField(label=gettext_lazy("Mode"), choices=MODES.items, required=False)
    reversals = forms.ChoiceField(
        label=gettext_lazy("Refunds and chargebacks count on"), choices=REVERSALS.items, required=False
    )
    by = forms.MultipleChoiceField(
        label=gettext_lazy("A row for each"),
        choices=DIMENSIONS.items,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any) -> None:
        """Fill in what the address leaves out."""
        days = Period.last_days(USUAL_DAYS)
        usual = {"first": days.first, "last": days.last, "mode": usual_mode()}
        given = {name: data[name] for name in self.base_fields if data.get(name) and name != "by"}
        by = data.getlist("by") or ([] if data else [Dimension.DAY.value])
        super().__init__({**usual, **given, "by": by})
        aliases = list(app_settings().projects)
        field = self.fields["project"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("all projects")), *((alias, alias) for alias in aliases)]
        if len(aliases) < 2:
            field.widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        """Check that there is such a period."""
        values = dict(self.cleaned_data)
        first, last = values.get("first"), values.get("last")
        if first and last:
            try:
                values["period"] = Period(first=first, last=last)
            except ValueError:
                raise forms.ValidationError(
                    _("The last day must not be before the first, nor more than %(n)d days after it.")
                    % {"n": MOST_DAYS - 1}
                ) from None
        return values

    @property
    def query(self) -> MoneyQuery:
        """What was chosen; of a valid form."""
        values = self.cleaned_data
        return MoneyQuery(
            period=values["period"],
            by=[dimension for dimension in Dimension if dimension in values["by"]],
            project=values["project"],
            mode=Mode(values["mode"]),
            on_payment_day=values["reversals"] == ON_PAYMENT_DAY,
        )
