"""How well the narrow tests hold the code that decides over money: each small change of it must turn a test red.

mutmut changes what stands in functions. Constants (patterns, tables of codes) and properties it leaves alone, so the score
says nothing of them.
"""
