"""Calls of a loaded tokenizer: pools of instances, deadlines, cancelling, helper threads."""
