"""The texts of `tools.verify.nasty`, under the name that tests know them by."""

from tools.verify.nasty import PIECES, id_lists, shrink, texts

__all__ = ["PIECES", "id_lists", "shrink", "texts"]
