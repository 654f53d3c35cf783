"""What is imported: public names when they are first used, and packages that are missing."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import DependencyUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def importing_late(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of *package* (PEP 562): *modules* has the module of each public name."""

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


@contextmanager
def dependencies_in_use() -> Iterator[None]:
    """Turn an ImportError that names another package into `DependencyUnavailable`, a sentence for users."""
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "scrapy_neardup"):
            raise
        raise DependencyUnavailable(
            f"The package {package} is missing, or does not fit this release of scrapy-neardup ({error}): "
            f"run pip install --upgrade {package} scrapy-neardup."
        ) from error
