"""The REST interface as it describes itself."""
