"""The renderer of chat templates, in a sandbox."""
