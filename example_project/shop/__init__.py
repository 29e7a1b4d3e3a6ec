"""Brightwick Games: products, inventories, and what happens when a sale is paid or taken back."""
