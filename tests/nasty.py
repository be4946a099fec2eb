"""The texts of `tools.nasty`, under the name that tests know them by."""

from tools.nasty import PIECES, id_lists, shrink, texts

__all__ = ["PIECES", "id_lists", "shrink", "texts"]
