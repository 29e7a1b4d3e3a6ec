"""Mutation score of the code that decides over money: each small change of it must turn a narrow test red.

mutmut changes the bodies of functions. It leaves constants (patterns, tables of codes) and properties alone, so the score
does not cover them.
"""
