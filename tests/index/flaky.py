"""LMDB with a hook before each of its calls, which may raise what the call could, or do something first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lmdb

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Hook = Callable[[str], None]

OPEN = lmdb.open


class Hooked:
    """What LMDB has made, with a hook before the methods named."""

    METHODS: dict[str, type[Hooked] | None] = {}

    def __init__(self, real: Any, flaky: Flaky) -> None:
        self._real = real
        self._flaky = flaky

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        if name not in self.METHODS:
            return method

        def call(*arguments: Any, **options: Any) -> Any:
            self._flaky.call(f"{name} write" if options.get("write") else name)
            made = method(*arguments, **options)
            kind = self.METHODS[name]
            return made if kind is None else kind(made, self._flaky)

        return call

    def __enter__(self) -> Any:
        self._real.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> Any:
        if kind is None and isinstance(self, Transaction):
            try:
                self._flaky.call("commit")
            except BaseException as error:
                self._real.__exit__(type(error), error, None)
                raise
        return self._real.__exit__(kind, *more)


class Cursor(Hooked):
    pass


class Transaction(Hooked):
    METHODS = {"get": None, "put": None, "delete": None, "cursor": Cursor}


class Environment(Hooked):
    METHODS = {
        "begin": Transaction,
        "set_mapsize": None,
        "copyfd": None,
        "reader_check": None,
        "info": None,
        "sync": None,
    }


class Flaky:
    """All environments that are opened from now on, with a *hook* that is told the name of each call."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.hook: Hook | None = None
        self.opened = 0
        patch.setattr(lmdb, "open", self._open)

    def call(self, name: str) -> None:
        if self.hook is not None:
            self.hook(name)

    def _open(self, *arguments: Any, **options: Any) -> Any:
        self.call("open")
        self.opened += 1
        return Environment(OPEN(*arguments, **options), self)

    def once(self, number: int, action: Callable[[], None], *names: str) -> list[str]:
        """Have *action* done before call *number* of those with *names*, then no more.

        Returns the calls so far.
        """
        calls: list[str] = []

        def hook(name: str) -> None:
            if name in names:
                calls.append(name)
                if len(calls) == number + 1:
                    self.hook = None
                    action()

        self.hook = hook
        return calls
