"""Lone surrogates: halves of a character, which JSON lets through in texts, and no encoding takes."""

from __future__ import annotations


def escaped(text: str) -> str:
    r"""Return *text* with each lone surrogate written out, so that every encoding of Unicode takes it.

    >>> escaped("https://a.example/\udc80")
    'https://a.example/\\udc80'
    """
    return text.encode("utf-8", "backslashreplace").decode()
