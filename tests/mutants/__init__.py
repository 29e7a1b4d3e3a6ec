"""How well the narrow tests hold the code that decides over money: each small change of it must turn a test red."""
