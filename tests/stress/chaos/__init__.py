"""The shop under killed processes, crashing databases and vanishing brokers: `python3 -m tests.stress.chaos`."""
