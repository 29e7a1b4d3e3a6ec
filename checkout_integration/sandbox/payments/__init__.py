"""Changes of an order after its creation; each is stored together with its notification.

- `payments`: pay, decline, cancel, expire, resend; and the way to the other two
- `renewals`: recurring agreements and their renewals
- `transitions`: what all of them share: read an order, change it, queue its notification
"""
