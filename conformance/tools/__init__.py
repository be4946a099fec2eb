"""What makes the suite: its tokenizers, and cases by asking the references."""
