"""Database connections that the server ends at each point of what a thread, a Celery child or a worker does."""
