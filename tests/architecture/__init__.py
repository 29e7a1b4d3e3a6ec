"""Tests about the tree itself: layout, names, imports."""
