"""Columns of texts from Arrow, and ids to Arrow, over its C data interface and `ctypes`."""
