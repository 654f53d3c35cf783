"""Print the figures of docs/schemes.md.

    python benchmarks/schemes.py [--data DIR]

DIR holds labelled pairs (senate_press); it defaults to $NEARDUP_DATA, else ../shared/data. Without it the
tables of real pairs are left out.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from choices.chinese import chinese
from choices.estimates import curves, errors
from choices.press import press_releases
from choices.times import clusters, costs, times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("NEARDUP_DATA", "../shared/data")))
    data = parser.parse_args().data / "senate_press"
    curves()
    errors()
    times()
    costs()
    if data.exists():
        press_releases(data)
    chinese()
    clusters()


if __name__ == "__main__":
    main()
