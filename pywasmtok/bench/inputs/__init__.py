"""The texts and conversations that are measured."""
