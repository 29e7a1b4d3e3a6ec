"""What we make of the service's news: facts and their merge, fields, binding and verdict.

Pure functions over plain values, so that every rule of payment truth can be tested over millions of orderings
without a database, a clock or a network.
"""
