"""The attention explorer's views, one module each; pages/inside/attention.py chooses among them."""
