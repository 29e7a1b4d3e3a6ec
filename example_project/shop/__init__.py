"""Brightwick Games: products, inventories, and what happens when a checkout is paid or reversed."""
