"""The pictures of docs/pictures: made from the example shop, and never compared."""
