"""The views of the page on positional encodings, one module each."""
