"""One state of a tokenizer: the core and the reference over the same file."""

from __future__ import annotations

import os
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

import tokenizers

from ..._locks import ForkSafeLock
from ..._signals import raised_by_handler
from ...errors import TokenizerError, Unsupported
from ...loading.factory import from_recipe
from ...tokenizer.recipe import Options, Recipe

if TYPE_CHECKING:
    from ...backends.core import CoreBackend
    from ...loading.sources.lazy import LazyFile
    from ...tokenizer.tokenizer import Tokenizer as CoreTokenizer

__all__ = ["PLAIN", "Engine", "Settings"]

T = TypeVar("T")

_CORE_ALONE = Options("core", "core", build=None, preload=False)
_ANY_LENGTH = b'{"any_length": true}'


class Settings(NamedTuple):
    """What a call depends on beside the file."""

    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None
    names_are_text: bool = False
    """`encode_special_tokens`: the names of special tokens are text like any other."""

    def apply(self, reference: tokenizers.Tokenizer) -> None:
        reference.no_truncation()
        reference.no_padding()
        if self.truncation is not None:
            try:
                reference.enable_truncation(**self.truncation)
            except Exception as error:
                if raised_by_handler(error):
                    raise
                # The stride was accepted with another post-processor, and stays.
                processor, reference.post_processor = reference.post_processor, None
                reference.enable_truncation(**self.truncation)
                reference.post_processor = processor
        if self.padding is not None:
            reference.enable_padding(**self.padding)
        reference.encode_special_tokens = self.names_are_text


PLAIN = Settings()


class Engine:
    """A file and what serves it. It never changes once it has bytes: tokenizers that are copies of
    each other share it, and an encoding that is completed later finds it as it was.
    """

    def __init__(
        self, data: bytes | LazyFile | None, reference: tokenizers.Tokenizer | None, name: str
    ) -> None:
        """At least one of `data` and `reference`; the other is made of it when it is needed."""
        self.name = name
        self.is_changed = data is None
        """Whether it began with a reference, which may do what its file does not say."""
        self._data = data
        self._reference = reference
        self._lock = ForkSafeLock()
        self._call: tuple[int, Settings] | None = None
        """The thread and the settings of the call that is inside the reference."""
        self._left_behind: tokenizers.Tokenizer | None = None
        """The reference of the parent process, where there is no file to make another one of."""
        self._core: CoreTokenizer | None = None
        self._core_tried = False
        self._refusal = ""
        self._core_lock = ForkSafeLock()
        self._post: tuple[CoreTokenizer | None, tuple[int, int] | None, bool] | None = None
        """What the core says of the post-processors: `plain_ends` and `is_chain`."""
        self._texts: tuple[bool, frozenset[int]] | None = None
        """Whether the vocabulary has the model's tokens, and the added ones that it has not."""
        self._around: list[str] | None = None
        """The tokens that a post-processor puts around a single text."""
        self._sequences_of_pairs: dict[bool, int] = {}
        _engines.add(self)

    @classmethod
    def load(
        cls,
        data: bytes | LazyFile,
        name: str,
        by_reference: Callable[[], tokenizers.Tokenizer],
    ) -> tuple[Engine, Settings]:
        """The engine of a file, and the settings that the file states. `by_reference` reads the
        same file and raises the errors that users of the library expect."""
        engine = cls(data, None, name)
        core = engine.core()
        if core is not None and core.made_of[1] == b"":
            return engine, PLAIN
        # The core refuses the file, or the file has settings.
        reference = by_reference()
        settings = Settings(reference.truncation, reference.padding)
        PLAIN.apply(reference)
        engine._reference = reference
        return engine, settings

    def core(self) -> CoreTokenizer | None:
        """The core's tokenizer without truncation and padding; None: see `refusal`."""
        if not self._core_tried:
            if self._is_nested(None):
                # Another thread may hold the lock and wait for the call around this one.
                return None
            with self._core_lock:
                if not self._core_tried:
                    self._core = self._load_core()
                    self._core_tried = True
        return self._core

    @property
    def refusal(self) -> str | None:
        """Why the core does not serve the file; None: it does."""
        return None if self.core() is not None else self._refusal

    @property
    def is_open(self) -> bool:
        """Whether the reference is all there is, so that changes inside of it count."""
        return self._data is None

    def _load_core(self) -> CoreTokenizer | None:
        try:
            data = self.data()
        except Exception as error:
            if raised_by_handler(error):
                raise
            # A component that is written in Python has no text.
            self._refusal = str(error)
            return None
        if self.is_changed:
            with self.reference() as reference:
                if _differs_from_its_file(reference):
                    self._refusal = "the library treats an added token as it was before a change"
                    return None
        recipe = Recipe(data, self.name, _CORE_ALONE)
        try:
            core = from_recipe(recipe)
            backend = core.core_backend
            if core.format != "tokenizer.json" or backend is None:
                self._refusal = f"the file is {core.format}, not tokenizer.json"
                return None
            if backend.info["truncation"] is None and backend.info["padding"] is None:
                return core
            core.close()
            return from_recipe(recipe._replace(load=_ANY_LENGTH))
        except TokenizerError as error:
            self._refusal = str(error)
            return None

    @property
    def reads_by_core(self) -> bool:
        """Whether questions about the vocabulary go to the core. The reference has shorter ways to
        answer them, but is not loaded for them."""
        return self._reference is None

    @property
    def loaded(self) -> tokenizers.Tokenizer | None:
        """The reference if it is there, for questions that no setting changes."""
        return self._reference

    def plain_ends(self) -> tuple[int, int] | None:
        """How many tokens the post-processor puts around a single text, where that is all it
        does. None also for more than one on a side: chains of post-processors, which mark them as
        tokens of the text now and then; and for type ids other than 0, which chains take for those
        of a second text."""
        return self._of_post()[1]

    def is_chain(self) -> bool:
        """Whether there are several post-processors. Of a single text, the library then makes a
        second sequence in some cases."""
        return self._of_post()[2]

    def _of_post(self) -> tuple[CoreTokenizer | None, tuple[int, int] | None, bool]:
        core, known = self.core(), self._post
        if known is None or known[0] is not core:
            backend = None if core is None else core.core_backend
            is_chain = backend is None or len(backend.info["post_processors"] or ()) > 1
            known = self._post = core, _plain_ends(backend), is_chain
        return known

    def sequences_of_pairs(self, add_special_tokens: bool) -> int:
        """Where there is one post-processor at most: a template may leave out one of both texts."""
        known = self._sequences_of_pairs
        if add_special_tokens not in known:
            (made,) = self.encode(
                [("", "")], PLAIN, fast=True, add_special_tokens=add_special_tokens
            )
            known[add_special_tokens] = made.n_sequences
        return known[add_special_tokens]

    def vocabulary_tokens(self, ids: list[int], ends: tuple[int, int]) -> list[str] | None:
        """The tokens of ids, where the vocabulary has them and the reference is loaded, which is
        quicker than to encode again. `ends`: how many a post-processor put around those of the
        text. None where a token may be a part of the text: some added tokens keep spaces around
        them or are normalized, and some models write what they do not know."""
        reference = self._reference
        if reference is None:
            return None
        if self._texts is None:
            knows = isinstance(reference.model, tokenizers.models.BPE | tokenizers.models.WordPiece)
            changes = reference.normalizer is not None
            others = frozenset(
                number
                for number, token in reference.get_added_tokens_decoder().items()
                if token.lstrip or token.rstrip or (token.normalized and changes)
            )
            self._texts = knows, others
        knows, others = self._texts
        before, behind = ends
        text_ids = ids[before : len(ids) - behind]
        if not knows or not others.isdisjoint(text_ids):
            return None
        tokens = list(map(reference.id_to_token, text_ids))
        if None in tokens:
            return None
        found = cast(list[str], tokens)
        if not before + behind:
            return found
        if self._around is None:
            # Post-processors state the texts of their tokens.
            (alone,) = self.encode([""], PLAIN, fast=False)
            self._around = alone.tokens
        if len(self._around) != before + behind:
            return None
        return [*self._around[:before], *found, *self._around[before:]]

    def data(self) -> bytes | LazyFile:
        """The file, or what the reference writes in its place after a change."""
        if self._data is None:
            with self.reference() as reference:
                if self._data is None:
                    self._data = reference.to_str().encode()
        return self._data

    @contextmanager
    def reference(self, settings: Settings | None = PLAIN) -> Iterator[tokenizers.Tokenizer]:
        """The library's tokenizer with these settings, for one call at a time: settings belong to
        its object. None: any will do."""
        if self._is_nested(settings) and self._reference is not None:
            yield self._reference
            return
        settings = settings or PLAIN
        with self._lock:
            reference = self._reference = self._reference or self._build()
            # To change a setting is to wait for all other calls of the library.
            changes = settings != PLAIN
            self._call = threading.get_ident(), settings
            try:
                if changes:
                    settings.apply(reference)
                yield reference
            except BaseException as error:
                if self._data is not None and not isinstance(error, Exception):
                    # A panic of the library may leave anything half-done.
                    self._reference = None
                raise
            finally:
                if changes:
                    PLAIN.apply(reference)
                self._call = None

    def _is_nested(self, settings: Settings | None) -> bool:
        """Whether a component in Python makes this call, inside of another one: it must not wait
        for the end of that. Raises if it needs other settings."""
        call = self._call
        if call is None:
            return False
        thread, active = call
        if thread != threading.get_ident():
            # For a batch, threads of the library run the components.
            is_foreign = isinstance(threading.current_thread(), threading._DummyThread)
            if not (is_foreign and self._data is None and _runs_python(self._reference)):
                return False
        if settings is not None and settings != active:
            raise _nested("makes a call with other settings than those of the call around it")
        return True

    def after_fork(self) -> None:
        """In the child, a call of another thread is in the reference for ever: with its settings,
        and so that no setting can be changed."""
        if self._call is not None and self._data is not None:
            self._reference = None
        elif self._call is not None:
            self._left_behind, self._reference = self._reference, None
        self._call = None

    def _build(self) -> tokenizers.Tokenizer:
        if self._data is not None:
            reference = tokenizers.Tokenizer.from_buffer(bytes(self._data))
        elif self._left_behind is not None:
            try:
                reference = tokenizers.Tokenizer.from_str(self._left_behind.to_str())
            except Exception as error:
                if raised_by_handler(error):
                    raise
                # A component that is written in Python has no text.
                return self._left_behind
        else:
            raise AssertionError("an engine has a file or a reference")
        PLAIN.apply(reference)
        return reference

    def change(
        self, change: Callable[[tokenizers.Tokenizer], T], *, adds_tokens: bool = False
    ) -> tuple[Engine, T]:
        """The engine after a change of the reference. This one keeps its file, so that encodings
        and copies made before stay as they are."""
        if self._is_nested(None):
            raise _nested("changes the tokenizer that runs it")
        with self._lock:
            reference = self._reference or self._build()
            if self._data is not None:
                self._reference = None
            answer = change(reference)
            if self._data is None or (adds_tokens and answer == 0):
                self._reference = reference
                # A component without a text may be gone.
                self._core_tried &= self._data is not None
                return self, answer
        return Engine(None, reference, self.name), answer

    def encode(
        self, items: Sequence[Any], settings: Settings, *, fast: bool, **how: bool
    ) -> list[tokenizers.Encoding]:
        """What the reference makes of a batch."""
        with self.reference(settings) as reference:
            encode = reference.encode_batch_fast if fast else reference.encode_batch
            return encode(items, **how)


def _plain_ends(backend: CoreBackend | None) -> tuple[int, int] | None:
    try:
        ends = None if backend is None else backend.plain_ends()
        if backend is None or ends is None or max(ends) > 1:
            return None
        return None if any(backend.plain_type_ids(sum(ends) + 1, True)) else ends
    except TokenizerError:
        # The core has ids for this file, and no details.
        return None


_engines: Final[weakref.WeakSet[Engine]] = weakref.WeakSet()


def _after_fork() -> None:
    for engine in list(_engines):
        engine.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _runs_python(reference: tokenizers.Tokenizer | None) -> bool:
    """Whether a component is written in Python: those have no text."""
    try:
        pickle.dumps(
            [getattr(reference, name) for name in ("normalizer", "pre_tokenizer", "decoder")]
        )
    except Exception:
        return True
    return False


def _nested(what: str) -> Unsupported:
    return Unsupported(
        f"a component in Python {what}",
        feature="component",
        hint="Change settings, tokens and parts outside of components",
    )


def _differs_from_its_file(reference: tokenizers.Tokenizer) -> bool:
    """Whether an added token behaves differently after saving and loading. One that was special
    before stays out of texts, and one that was normalized keeps its normal form."""
    added = dict(sorted(reference.get_added_tokens_decoder().items()))
    vocab = {token.content: number for number, token in added.items()}
    fresh = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, ""))
    fresh.normalizer = reference.normalizer
    fresh.add_tokens(list(added.values()))

    def all_of(tokenizer: tokenizers.Tokenizer) -> list[tuple[str | None, str]]:
        return [(tokenizer.id_to_token(number), tokenizer.decode([number])) for number in added]

    # Some decoders panic on some tokens.
    decoder, reference.decoder = reference.decoder, None
    try:
        return all_of(reference) != all_of(fresh)
    finally:
        reference.decoder = decoder
