"""Personal data and secrets: the places where they may be stored, and that they are nowhere else."""
