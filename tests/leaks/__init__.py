"""Personal data and secrets: where they may be kept, and that they are nowhere else."""
