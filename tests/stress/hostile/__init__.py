"""Inputs that no one here wrote, and mutated ones: through the doors of the app into the database, and onto its pages."""
