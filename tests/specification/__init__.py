"""The statements of the specification, and the map from each to the code that obeys it and the tests that prove it."""
