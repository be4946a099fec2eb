"""The shapes of other libraries, over this one."""
