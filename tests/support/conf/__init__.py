"""Settings as merchants write them."""
