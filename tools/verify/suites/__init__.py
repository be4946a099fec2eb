"""Parts of the command that runs the public tests of other libraries."""
