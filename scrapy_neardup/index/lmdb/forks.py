"""What happens to open LMDB environments when the process forks.

LMDB does not survive a fork: parent and child would share the table of readers. The parent goes on as before.
The child must neither use nor finalise what its parent has open, because ending a transaction there would
free the parent's slot in that table.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading
    from pathlib import Path

FORKED = (
    "The index was opened before a fork, which LMDB does not survive: close it before the fork, or start "
    'child processes by multiprocessing\'s method "spawn" or "forkserver".'
)


class Forkable(Protocol):
    """What this module has to know of an open environment."""

    path: Path
    #: Held while the process forks.
    lock: threading.RLock

    @property
    def forked(self) -> bool:
        """Whether a parent of this process has opened it."""

    def leave(self) -> object:
        """Stop reading in a child; returns what must not be finalised there."""


#: All environments that were opened in this process or, after a fork, by its parent.
environments: weakref.WeakSet[Forkable] = weakref.WeakSet()

#: In a child: what the parent had open, kept so that it is never finalised.
_inherited: list[object] = []
#: The locks that are held while the process forks.
_held: list[threading.RLock] = []


def _before_fork() -> None:
    """Take all locks: a lock that another thread holds would stay locked for ever in the child."""
    _held[:] = [environment.lock for environment in list(environments)]
    for lock in _held:
        lock.acquire()


def _after_fork() -> None:
    """Release the locks that `_before_fork` has taken."""
    for lock in _held:
        lock.release()
    _held.clear()


def _after_fork_in_child() -> None:
    """Release the locks, and keep the parent's environments and transactions from being finalised here."""
    _after_fork()
    _inherited.extend((environment, environment.leave()) for environment in environments)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
