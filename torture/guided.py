"""The command `python -m torture.guided READER FOLDER …`: fuzz one reader with atheris.

It makes mutants that reach code which none has reached before. What follows the folder is for libFuzzer. It
is a process of its own, since atheris ends the one that it runs in.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["scrapy_neardup"]):
    from tests.readers import readers

from torture.trying import Trial


def main() -> None:
    """Read the arguments, and fuzz until a fault is found or all is done."""
    program, name, folder, *options = sys.argv
    trial = Trial(readers()[name], Path(folder))

    def read(data: bytes) -> None:
        fault = trial.broken(data, twice=not data or data[0] % 8 == 0)
        if fault is not None:
            print(f"FAULT {fault}", flush=True)
            raise RuntimeError(fault)

    atheris.Setup([program, *options], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
