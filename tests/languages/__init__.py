"""The translations: their catalogues, the command that updates them, and the tests of what people see in each language."""
