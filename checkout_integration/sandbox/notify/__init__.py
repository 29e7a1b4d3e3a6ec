"""Requests from the service to the merchant: notifications with retries, user.validate, testing cases.

- `outbox`: the queue of notifications
- `delivery_with_retries`: the threads that send what is due, and try again
- `sender`: every request to the merchant, with its fault and its line in the run log
- `user_validation`: user.validate, before a payment
- `testing_cases`: the four testing cases
"""
