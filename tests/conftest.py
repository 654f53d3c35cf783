"""Hypothesis does not watch the clock."""

from __future__ import annotations

from hypothesis import settings

# The first call in a process makes tables, and machines are busy; how long work takes is measured elsewhere.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
