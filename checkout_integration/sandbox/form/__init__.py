"""The hosted form: the pages that a customer sees.

- `form_views`: show an order, cancel, try again, receipt
- `payment_views`: pay, and the code of the 3-D Secure step
"""
