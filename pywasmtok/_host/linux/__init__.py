"""What only one operating system has, and what is done where it is missing."""
