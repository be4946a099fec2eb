"""What a caller requests, and what was found."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import InvalidArgument
from ...tokenizer.limits import Limits
from ...tokenizer.recipe import NO_SIDECARS, Sidecars
from ..lengths import Stated, check_lengths
from .lazy import LazyFile
from .paths import as_path
from .templates import TemplatePlace

__all__ = ["GGUF_COMPAT", "Request", "Source", "SourceLike"]

SourceLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]

GGUF_COMPAT = ("llama.cpp", "hf")


class Request(NamedTuple):
    """What a caller may say beside the source; `create_tokenizer` describes each."""

    pattern: str | None = None
    special_tokens: Mapping[str, int] | None = None
    encoding: str | None = None
    gguf_compat: str = "llama.cpp"
    apply_config: bool | str = False
    model_map: Mapping[str, str] | SourceLike | None = None
    limits: Limits | None = None
    revision: str | None = None
    token: str | bool | None = None
    cache_dir: SourceLike | None = None
    offline: bool | None = None
    truncation: Stated = None
    padding: Stated = None

    def checked(self) -> Request:
        """Raises for values that can be told to be wrong before anything is read."""
        if self.gguf_compat not in GGUF_COMPAT:
            raise InvalidArgument(
                f"gguf_compat={self.gguf_compat!r} is none of {', '.join(GGUF_COMPAT)}"
            )
        if not (isinstance(self.apply_config, bool) or self.apply_config == "tokens"):
            raise InvalidArgument(
                f"apply_config={self.apply_config!r} is none of True, False, 'tokens'"
            )
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise InvalidArgument("limits must be a pywasmtok.Limits")
        for name in ("pattern", "encoding", "revision"):
            value = getattr(self, name)
            if not (value is None or isinstance(value, str)):
                raise InvalidArgument(f"{name} must be str, not {type(value).__name__}")
        if self.cache_dir is not None:
            as_path(self.cache_dir)
        _check_special_tokens(self.special_tokens)
        check_lengths(self.truncation, self.padding)
        return self

    @property
    def restates(self) -> bool:
        """Whether the file gets another truncation or padding. Where both are switched off, a load
        option does the same."""
        return self.truncation is not self.padding or self.truncation not in (None, False)

    @property
    def bounds(self) -> Limits:
        return self.limits if self.limits is not None else Limits()


def _check_special_tokens(tokens: object) -> None:
    if tokens is None:
        return
    if not isinstance(tokens, Mapping):
        raise InvalidArgument("special_tokens must map each token to its id")
    for token, number in tokens.items():
        if not isinstance(token, str) or not isinstance(number, int) or isinstance(number, bool):
            raise InvalidArgument(
                f"special_tokens must map each token to its id, not {token!r} to {number!r}"
            )
        if not 0 <= number < 2**32:
            raise InvalidArgument(f"special_tokens[{token!r}] = {number} is no id")


class Source(NamedTuple):
    """The bytes of a tokenizer and what is known about them."""

    data: bytes | LazyFile
    name: str
    """For people: a path may not be UTF-8, this is printable."""
    parts: tuple[tuple[str, int], ...] = ()
    """Name and length of each of several files that make up `data`."""
    encoding: str | None = None
    """The known encoding that a name stands for."""
    sidecars: Sidecars = NO_SIDECARS
    chosen: str | None = None
    """The file that was taken out of a folder."""
    passed_over: tuple[str, ...] = ()
    """What else could have been taken, and why it was not."""
    size: int | None = None
    """Bytes of the whole file, where only its beginning was read."""
    sha256: str | None = None
    """Of the file, where `data` was made of it."""
    needs_config: bool = False
    """The file is nothing without the configurations beside it: their tokens are always added."""

    def options(self, request: Request, template: TemplatePlace | None = None) -> bytes:
        """The load options of the core, as JSON; nothing where there is nothing to say."""
        options: dict[str, Any] = {}
        if self.parts:
            options["parts"] = self.parts
        encoding = request.encoding or self.encoding
        if encoding is not None:
            options["encoding"] = encoding
        elif self.parts and request.pattern is None:
            from .ranks.vocab_merges import check_class

            check_class(self.sidecars, self.name)
        elif self.looks_like_ranks() and request.pattern is None:
            from .ranks.rank_encodings import options_for_ranks

            options |= options_for_ranks(self.sidecars)
        if request.pattern is not None:
            options["pattern"] = request.pattern
        if request.special_tokens is not None:
            options["special_tokens"] = dict(request.special_tokens)
        if request.gguf_compat != "llama.cpp":
            options["gguf_compat"] = request.gguf_compat
        # Limits on calls do not concern the file: they must not give its snapshot another key.
        if request.limits is not None and request.limits.for_core() != Limits().for_core():
            options["limits"] = request.limits.for_core()
        if request.truncation is False and request.padding is False:
            options["any_length"] = True
        if request.apply_config or self.needs_config:
            from .transformers_rules import config_for_core

            config = config_for_core(self.sidecars, bos_and_eos=request.apply_config is True)
            if config is not None:
                options["config"] = config
        from ..control import control_for_core

        control = control_for_core(self.sidecars, template)
        if control:
            options["control"] = control
        return json.dumps(options).encode() if options else b""

    def looks_like_ranks(self) -> bool:
        """Whether the first line is one of a rank file. The core decides; this only tells whether
        a configuration beside the file could say anything about it."""
        data = self.data
        start = data[:1024] if isinstance(data, bytes) else data.start(1024)
        line = start.partition(b"\n")[0].split()
        return len(line) == 2 and line[1].isdigit() and not line[0].isdigit()
