"""LMDB with a hook before each of its calls, which may raise what the call could, or do something first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import lmdb
import pytest

if TYPE_CHECKING:
    Hook = Callable[[str], None]

OPEN = lmdb.open
#: The methods of environments and transactions that have a hook.
METHODS = {"begin", "get", "put", "delete", "cursor", "set_mapsize", "copyfd", "reader_check", "info", "sync"}


class Hooked:
    """An environment or a transaction of LMDB, with hooks before its calls."""

    def __init__(self, real: Any, flaky: Flaky) -> None:
        self._real = real
        self._flaky = flaky

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        if name not in METHODS:
            return method

        def call(*arguments: Any, **options: Any) -> Any:
            self._flaky.call(f"{name} write" if options.get("write") else name)
            made = method(*arguments, **options)
            return Hooked(made, self._flaky) if name == "begin" else made

        return call

    def __enter__(self) -> Any:
        self._real.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> Any:
        try:
            if kind is None:
                self._flaky.call("commit")
        except BaseException as error:
            self._real.__exit__(type(error), error, None)
            raise
        return self._real.__exit__(kind, *more)


class Flaky:
    """All environments that are opened from now on, with a *hook* that is told the name of each call."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.hook: Hook | None = None
        patch.setattr(lmdb, "open", self._open)

    def call(self, name: str) -> None:
        if self.hook is not None:
            self.hook(name)

    def _open(self, *arguments: Any, **options: Any) -> Any:
        self.call("open")
        return Hooked(OPEN(*arguments, **options), self)

    def once(self, number: int, error: Exception, *names: str) -> list[str]:
        """Have *error* raised by call *number* of those with *names*, once; returns the calls so far."""
        calls: list[str] = []

        def hook(name: str) -> None:
            if name in names:
                calls.append(name)
                if len(calls) == number + 1:
                    self.hook = None
                    raise error

        self.hook = hook
        return calls

    def always(self, error: Exception, *names: str) -> None:
        """Have *error* raised by all calls with *names* from now on."""

        def hook(name: str) -> None:
            if name in names:
                raise error

        self.hook = hook
