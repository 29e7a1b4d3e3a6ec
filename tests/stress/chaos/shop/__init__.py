"""A shop that is killed: settings, receivers that leave traces, and the places at which its processes may die."""
