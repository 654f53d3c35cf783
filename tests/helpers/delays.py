"""A plugin for pytest: half of what other threads hand to the event loop comes up to 60 ms late.

``python -m pytest -p tests.helpers.delays tests/plugin`` finds code and tests that rely on an order which
nobody promises.
"""

from __future__ import annotations

import random
import threading
from asyncio.base_events import BaseEventLoop
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Handle
    from collections.abc import Callable

LONGEST = 0.06
at_once = BaseEventLoop.call_soon_threadsafe
rng = random.Random(1)


def call_late(
    loop: AbstractEventLoop, callback: Callable[..., object], *args: Any, context: Any = None
) -> Handle:
    """Stand in for the method of the event loop."""
    from_the_loop = threading.get_ident() == getattr(loop, "_thread_id", None)
    if from_the_loop or rng.random() < 0.5:
        return at_once(loop, callback, *args, context=context)  # type: ignore[arg-type]
    return at_once(loop, lambda: loop.call_later(rng.random() * LONGEST, callback, *args), context=context)  # type: ignore[arg-type]


BaseEventLoop.call_soon_threadsafe = call_late  # type: ignore[assignment,method-assign]
