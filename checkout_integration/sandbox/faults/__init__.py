"""Faults that are switched on by request.

- `catalogue`: every kind of fault, and where it strikes
- `switchboard`: the rules, and which of them strikes a request
- `api_faults`: responses of the API that are late, cut, garbled or missing
- `list_faults`: a transactions list that shifts, lies or falls behind
- `old_shape`: notifications in the shape of older messages
"""
