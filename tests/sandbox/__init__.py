"""The sandbox: the service as the specification describes it, spoken to over real sockets."""
