"""From signals to receivers: fan out, claim, run, retry, replay, status."""
