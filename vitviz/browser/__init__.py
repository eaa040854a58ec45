"""JavaScript and style sheets that draw in the browser, for pages, notebooks and HTML files."""
