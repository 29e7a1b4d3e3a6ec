"""The measured goals, as ratios within one run: absolute figures depend on the machine. See docs/benchmarks.md."""
