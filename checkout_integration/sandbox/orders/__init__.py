"""Orders as values: a new order, its content, and its documents. Nothing here stores or sends.

- `order`: the order itself, and its text for the database
- `purchase`: the purchase of a request, and the rules for it
- `order_factory`: a new order from a purchase, with the status created
- `documents`: the Order, User and Webhook objects
- `payment_methods`: test cards, wallets and crypto currencies
- `tax`: taxes by country
- `language`: the customer's language
"""
