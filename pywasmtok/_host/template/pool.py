"""Instances of the renderer, handed to one call at a time.

Those that are idle lie in plain lists, whose `pop` and `append` are atomic: no call takes a lock.
After a trap an instance is dropped, with everything in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from ... import errors
from ..calls.interrupt import in_main_thread
from ..calls.pool import default_limit
from ..linux import trap_handlers
from ..linux.trap_handlers import faulthandler_enabled
from ..wasm import fork
from .core import open_template_core, stack_of_thread
from .instance import NotPlain, TemplateInstance

T = TypeVar("T")

# After such an error the instance can be used again.
_HARMLESS: Final = (errors.TemplateError, errors.InvalidArgument, NotPlain)
# A trap, although it is a `TemplateError`.
_TRAPS: Final = {"deadline", "stack", "memory"}


class TemplatePool:
    """The instances for one size of stack and one bound of memory."""

    def __init__(
        self, stack: int, memory: int, made: Callable[[TemplateInstance], None] | None = None
    ) -> None:
        self._made = made
        self._stack = stack
        # A tenant's template may be written to make the guest fault: its code has checks.
        self.core = open_template_core(stack, checked=made is not None)
        self._until_look, self._faulthandler = 0, faulthandler_enabled()
        self._memory = memory
        self._idle: list[TemplateInstance] = []
        self._most_idle = default_limit()

    def run(self, work: Callable[..., T], *args: object) -> T:
        """`work` with an instance; once more with a new one where an old one had no room left."""
        instance = self._idle_or_new()
        fresh = instance.fresh
        try:
            answer = work(instance, *args)
        except errors.TemplateLimitExceeded as error:
            if error.feature != "memory" or fresh:
                self._settle(instance, error)
                raise
        except BaseException as error:
            self._settle(instance, error)
            raise
        else:
            # `release`, written out.
            if len(self._idle) < self._most_idle and instance.core is self.core:
                self._idle.append(instance)
            return answer
        instance = self._new()
        try:
            answer = work(instance, *args)
        except BaseException as error:
            self._settle(instance, error)
            raise
        self.release(instance)
        return answer

    def _idle_or_new(self) -> TemplateInstance:
        self._until_look -= 1
        if self._until_look < 0 or faulthandler_enabled() is not self._faulthandler:
            self._look_at_handlers()
        while True:
            try:
                instance = self._idle.pop()
            except IndexError:
                return self._new()
            # Instances that call Python are not for the main thread; see `cancel`.
            if not (instance.watched and in_main_thread()):
                return instance

    def _look_at_handlers(self) -> None:
        """If other code has replaced the signal handlers, instances that need them are dropped."""
        self._faulthandler, self._until_look = faulthandler_enabled(), trap_handlers.CALLS
        if trap_handlers.look() and self.core.by_handlers:
            self.core = open_template_core(self._stack, checked=True)
            self._idle = []

    def release(self, instance: TemplateInstance) -> None:
        if len(self._idle) < self._most_idle and instance.core is self.core:
            self._idle.append(instance)

    def _settle(self, instance: TemplateInstance, error: BaseException) -> None:
        harmless = isinstance(error, _HARMLESS) and getattr(error, "feature", None) not in _TRAPS
        if harmless and not instance.bloated:
            self.release(instance)

    def _new(self) -> TemplateInstance:
        instance = TemplateInstance(self.core, self._memory)
        if self._made is not None:
            self._made(instance)
        return instance


class TemplatePools:
    """The instances of one owner: nothing that ran for it is ever handed to another."""

    def __init__(self, made: Callable[[TemplateInstance], None] | None = None) -> None:
        """`made` is called with each new instance."""
        self._pools: dict[tuple[int, int], TemplatePool] = {}
        self._made = made

    def pool(self, memory: int) -> TemplatePool:
        """For the stack of this thread."""
        key = stack_of_thread(), memory
        found = self._pools.get(key)
        return found if found is not None else self._new(key)

    def clear(self) -> None:
        """Drops the idle instances."""
        with fork.creation():
            self._pools.clear()

    def _new(self, key: tuple[int, int]) -> TemplatePool:
        with fork.creation():
            found = self._pools.get(key)
            if found is None:
                found = self._pools[key] = TemplatePool(*key, self._made)
            return found


shared: Final = TemplatePools()
"""Of the program itself."""
