"""Named experiments: what is measured cell by cell, kept as one file of results, and drawn by the pages."""
