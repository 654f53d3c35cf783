"""Everything that the library raises on purpose. Each message is one sentence that names the remedy."""

from __future__ import annotations


class NearDupError(Exception):
    """Root of the errors below."""


class ConfigurationError(NearDupError, ValueError):
    """A setting or an argument has a value that cannot work."""


class IndexUnavailable(NearDupError):
    """The index cannot be opened or used: path, permissions, file system, another process, closed."""


class IndexCorrupted(IndexUnavailable):
    """The file of the index is damaged, empty or not an index."""


class IndexMismatch(NearDupError):
    """The index was made with other parameters, or by a newer version of this library."""


class DependencyUnavailable(NearDupError):
    """A package that this library needs is missing, or of a release that does not fit."""


class ExtractorUnavailable(NearDupError):
    """The extractor cannot be imported."""
