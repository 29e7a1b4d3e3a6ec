"""Defects that were put into the product on purpose: each must turn a named test red, or the tests are worth nothing."""
