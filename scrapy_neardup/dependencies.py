"""A package that is missing, or of a release that does not fit, is named to the user in one sentence."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from inspect import ismodule
from typing import TYPE_CHECKING

from .errors import DependencyUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Modules that are no dependency; "" is what an error says that names none.
_OWN = ("", "builtins", "scrapy_neardup")


@contextmanager
def dependencies_in_use() -> Iterator[None]:
    """Turn ImportError and AttributeError, which other releases may raise, into `DependencyUnavailable`."""
    try:
        yield
    except (ImportError, AttributeError) as error:
        package = _package(error)
        if package is None:
            raise
        raise DependencyUnavailable(
            f"{_release(package)} does not fit this release of scrapy-neardup ({error}): "
            f"run pip install --upgrade {package} scrapy-neardup."
        ) from error


def _package(error: ImportError | AttributeError) -> str | None:
    """Return the distribution that lacks what was asked for; None if that is not to be seen."""
    if isinstance(error, ImportError):
        module = error.name or ""
    else:
        module = error.obj.__name__ if ismodule(error.obj) else str(type(error.obj).__module__)
    top = module.partition(".")[0]
    if top in _OWN:
        return None
    return packages_distributions().get(top, [top])[0]


def _release(package: str) -> str:
    try:
        return f"The package {package} {version(package)}"
    except PackageNotFoundError:
        return f"The package {package}"
