"""Measure named experiments cell by cell and store each as one file of results."""
