"""Programs of other libraries, over this one. A test skips where its library is not installed."""
