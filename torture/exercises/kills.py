"""kill -9 at random moments: writers, commands, audits, crawls, a Redis server and its clients."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from torture.exercise import Exercise, Round
from torture.kills import BUDGET
from torture.kills.index import commands, writers
from torture.kills.pages import audits, crawls
from torture.kills.server import server

if TYPE_CHECKING:
    from pathlib import Path

#: What the rounds do in turn: mostly what takes the least time for a kill.
MODES = (writers, commands, writers, server, writers, audits, writers, crawls)


def run(seed: int, folder: Path) -> Round:
    outcome = Round()
    MODES[seed % len(MODES)](random.Random(seed), folder, outcome)
    outcome.counts["kills"] = sum(n for what, n in outcome.counts.items() if what.startswith("kills of"))
    return outcome


EXERCISE = Exercise(
    name="kills",
    promise="kill -9 damages no index, and loses nothing that was flushed, nor what was confirmed over a "
    "second before.",
    how="At random moments: 2 to 8 writers on one index, `index compact` and `prune`, audits that go on when "
    "begun again, crawls with a JOBDIR, clients of a Redis server and the server. What each was told is in "
    "files beside; after each kill the index is checked and compared with them.",
    run=run,
    seconds=BUDGET,
    share=2.0,
)
