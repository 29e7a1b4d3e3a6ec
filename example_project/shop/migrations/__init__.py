"""As makemigrations wrote them."""
