"""Client, sandbox and specification: one set of requests, three readings, no disagreement."""
