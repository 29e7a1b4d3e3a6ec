"""The template tags, rendered and read as a browser would."""
