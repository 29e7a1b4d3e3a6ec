"""The example shop and a blank project as running programs."""
