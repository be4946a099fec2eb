"""The command `pywasmtok completion`."""

from __future__ import annotations

import argparse

from ..exits import Exit
from ..options.tree import whole
from . import bash, fish, zsh
from .words import commands

__all__ = ["run"]

_WRITERS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def run(options: argparse.Namespace) -> int:
    print(_WRITERS[options.shell](list(commands(whole()))), end="")
    return Exit.DONE
