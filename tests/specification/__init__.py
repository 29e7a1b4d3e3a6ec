"""The statements of the service's specification, and the map from each to the code that obeys it and the tests that prove it."""
