"""The sandbox behind a socket: the WSGI application, its guards, the command line.

- `server`: a threaded HTTP server
- `command_line`: `python -m checkout_integration.sandbox`
- `options`: options, from the command line or the environment
"""
