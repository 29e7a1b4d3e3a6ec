"""HTTP data, read and written. All other rooms are based on this one.

- `http`: request bodies in, responses out
- `json_text`: JSON with exact decimals
- `fields`: the fields of a JSON object, with everything that is wrong in them
- `errors`: `RefusedError`, the cases, and the code of each
- `moments`: times as text and as numbers
- `addresses`: web addresses, the loopback, and the host names that the sandbox answers to
- `signing`: the signature of what is sent, and secrets compared
- `run_log`: every exchange, for the operator
"""
