"""Measures what the documents cite."""
