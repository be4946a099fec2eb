"""The shapes of other libraries, over this one: change an import, keep the program."""
