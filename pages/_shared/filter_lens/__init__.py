"""The views of the page on the filters of E, one module each."""
