"""Projects, products, currencies."""
