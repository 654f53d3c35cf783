"""What an environment asks of those who read its memory map."""

from __future__ import annotations

from typing import Protocol


class MapReader(Protocol):
    """Something that holds views of the memory map and has to let go of them before the map moves."""

    def drop(self) -> None:
        """Let go of the map until the next `refresh`."""

    def refresh(self, *, wait: bool = True) -> None:
        """Read the newest commit. See `Environment.read` for *wait*."""

    def leave(self) -> object:
        """Let go of the map in a forked child; returns the open transaction, which is not ended."""
