"""REST for the signed-in customer: their own checkouts and orders, and a new checkout at the shop's price.

Include ``checkout_integration.api.urls``. No setting of REST framework is needed; authentication and throttling are those of
the shop's ``REST_FRAMEWORK`` (DEFAULT_AUTHENTICATION_CLASSES, DEFAULT_THROTTLE_CLASSES). A shop that sells over REST should
throttle: each POST makes an order at the service.
"""
