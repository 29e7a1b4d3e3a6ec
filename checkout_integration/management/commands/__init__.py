"""One command a module; data goes to standard output, progress to standard error."""
