"""Without a browser the tests of the report fail and say what to install; they are never skipped."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import find_browser

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_own_browser_first_then_that_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own: Any = SimpleNamespace(executable_path=str(tmp_path / "chrome"))
    monkeypatch.setattr(
        shutil, "which", lambda name: "/usr/bin/google-chrome" if name == "google-chrome" else None
    )
    assert find_browser(own) == "/usr/bin/google-chrome"
    (tmp_path / "chrome").touch()
    assert find_browser(own) == own.executable_path


def test_no_browser_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    nowhere: Any = SimpleNamespace(executable_path=str(tmp_path / "chrome"))
    with pytest.raises(pytest.fail.Exception, match="apt install chromium"):
        find_browser(nowhere)
