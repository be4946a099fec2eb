"""Worker processes: their start and end, and connections handed from one to another."""
