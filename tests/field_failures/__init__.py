"""Failures that really happened to payment integrations, by the name of the report.

Each test shows the harm on a faithful "old way", written as that integration had it, and its absence on ours.
"""
