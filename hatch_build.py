"""Compiles the kernel of signatures while the package is built, if NEARDUP_KERNEL=1 asks for it."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("scrapy_neardup", "fingerprint")
#: The oldest Python that is supported; one file serves all later ones.
ABI = "cp310-abi3"


class Kernel(BuildHookInterface):  # type: ignore[type-arg]
    """Without the variable nothing is compiled, and the wheel is for every platform."""

    def dependencies(self) -> list[str]:
        return ["setuptools>=77"] if is_asked() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or not is_asked():
            return
        compiled = compile_kernel(Path(self.root))
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"{ABI}-{platform}"
        build_data["pure_python"] = False
        build_data["artifacts"].append(f"/{compiled.as_posix()}")


def is_asked() -> bool:
    return os.environ.get("NEARDUP_KERNEL") == "1"


def compile_kernel(root: Path) -> Path:
    """Compile the kernel beside its source, below *root*; return where it is, from there."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    source = FOLDER / "_kernel.c"
    extension = Extension(
        ".".join(source.with_suffix("").parts),
        [source.as_posix()],
        extra_compile_args=["-std=c11", "-O2", "-ffp-contract=off"],
        py_limited_api=True,
    )
    os.chdir(root)
    command = build_ext(Distribution({"ext_modules": [extension], "packages": ["scrapy_neardup"]}))
    command.inplace = command.force = True
    command.ensure_finalized()
    with tempfile.TemporaryDirectory() as folder:
        command.build_temp = command.build_lib = folder
        command.run()
    return FOLDER / "_kernel.abi3.so"
