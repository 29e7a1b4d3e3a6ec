"""Two releases of a shop at once: its processes are restarted one after the other, out and back."""
