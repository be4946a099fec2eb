"""Programs of users of other libraries, with what they used before and with this package."""
