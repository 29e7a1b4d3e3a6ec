"""The product in projects that are set up in hostile ways, each a process of its own under a real server."""
