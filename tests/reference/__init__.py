"""The pages under docs/reference: written from the code by `python3 -m tests.reference`, and compared with it."""
