"""The hosted form: the pages that a customer sees.

- `form_views`: show an order, cancel, try again, receipt
- `payment_views`: pay, and the code of the 3-D Secure step
- `order_form`: what both share: find an order, show its page
- `payment_form`: the posted fields, checked
- `first_visit`: what the first visit says about the customer
- `pay_page`: the page to pay on
- `result_pages`: how it ended, the code of the bank, the receipt
"""

from __future__ import annotations

from checkout_integration.sandbox.form.form_views import FormViews
from checkout_integration.sandbox.form.payment_views import PaymentViews

__all__ = [
    "FormViews",
    "PaymentViews",
]
