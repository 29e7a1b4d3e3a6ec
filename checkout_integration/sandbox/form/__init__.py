"""The hosted form: the pages that a customer sees.

- `form_views`: show an order, pay, the code of the 3-D Secure step, cancel, try again, receipt
"""
