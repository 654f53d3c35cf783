"""Text of any kind ends no process: code in C that is handed a lone surrogate in a str may crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_neardup.arguments import escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("ä 😀\n", "ä 😀\n"), ("a\ud800b", "a\\ud800b"), ("\udc80\udcff", "\\udc80\\udcff")],
)
def test_surrogates_are_written_out(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.slow
def test_any_text_in_every_public_function(tmp_path: Path) -> None:
    script = Path(__file__).with_name("helpers") / "any_text.py"
    command = [sys.executable, "-X", "faulthandler", str(script), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
