"""Engines that find faults in one way or the other, and builds with SIMD or without.

A variant is the settings that the package uses, with some of them replaced. What the package itself
chooses is found out from `config.settings`, so that this file need not be changed with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pywasmtok._host.wasm import config
from pywasmtok._host.wasm.wasmtime_objects import Engine

Settings = Mapping[str, bool | int]

SIGNALS: Final = "signals_based_traps"
EPOCHS: Final = "epoch_interruption"
# With checks in the code, what a processor may read ahead of a check that fails is masked, too.
MASKS: Final = "enable_heap_access_spectre_mitigation"


@dataclass(frozen=True)
class Variant:
    name: str
    what: str
    build: str = "portable"
    settings: Settings = field(default_factory=dict)
    """Of the engine, in place of the package's."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Of the compiler in the engine."""

    def engine(self) -> Engine:
        return Engine({**next(iter(shipped())), **self.settings}, self.flags)


VARIANTS: Final = (
    Variant(
        "bare",
        "faults are signals, no epochs",
        settings={SIGNALS: True, EPOCHS: False},
    ),
    Variant(
        "epochs",
        "the same, and each loop and function looks at the epoch",
        settings={SIGNALS: True, EPOCHS: True},
    ),
    Variant(
        "checks",
        "each address is checked in the code, no epochs",
        settings={SIGNALS: False, EPOCHS: False},
    ),
    Variant(
        "checks, no masks",
        "the same without masks against speculation",
        settings={SIGNALS: False, EPOCHS: False},
        flags={MASKS: "false"},
    ),
    Variant(
        "checks, epochs",
        "checks and epochs",
        settings={SIGNALS: False, EPOCHS: True},
    ),
    Variant(
        "bare, no SIMD",
        "the build `baseline`: words of 8 bytes, as the native build has them, for registers of 16",
        build="baseline",
        settings={SIGNALS: True, EPOCHS: False},
    ),
)


def shipped() -> Iterator[Settings]:
    """The settings of the package's own engines: of every kind that there is, the first for calls
    without bounds."""
    for by_handlers in (True, False):
        yield config.settings(False, by_handlers)


def names_of_shipped() -> list[str]:
    """The variants that find faults as the package's engines do."""
    return [
        one.name
        for own in shipped()
        for one in VARIANTS
        if one.build == "portable"
        and not one.flags
        and all(own[name] == value for name, value in one.settings.items())
    ]
