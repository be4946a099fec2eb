"""Rank files of known encodings: names, patterns, downloads."""
