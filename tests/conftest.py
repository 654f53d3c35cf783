"""How much hypothesis tries: as it does by itself, or less with ``--hypothesis-profile few``; never against the clock."""

from __future__ import annotations

from hypothesis import settings

# The first call in a process makes tables, and machines are busy; how long work takes is measured elsewhere.
settings.register_profile("patient", deadline=None)
settings.register_profile("few", deadline=None, max_examples=15)
settings.load_profile("patient")
