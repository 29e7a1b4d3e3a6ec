"""The meaning of observations: events, facts and their merge, fields, status, binding and verdict.

Pure functions over plain values, so that every rule of payment truth can be tested over millions of orderings
without a database, a clock or a network.
"""
