"""What the cases about chat templates are made of: templates, conversations, and the reference."""
