"""Every journey of the example, over real sockets and without a browser: ``python3 -m example_project --check``."""
