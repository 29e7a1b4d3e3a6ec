"""An app of a shop whose rows refer to what was sold."""
