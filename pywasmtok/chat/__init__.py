"""Chat templates: the messages of a conversation, rendered as transformers renders them.

The files are in the order in which a conversation walks through them.
"""

__all__: list[str] = []
