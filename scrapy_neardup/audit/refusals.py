"""The errors of an audit without results: its directory has other ones, or its sources have no page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_neardup.errors import ConfigurationError

from .settings import VERSION
from .sources import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import Input
    from .store import Store

#: Sources that a message names.
_NAMED = 3


def require_same(store: Store, inputs: Sequence[Input], identity: dict[str, Any]) -> None:
    """Raise `ConfigurationError` if pages are stored that an audit of *inputs* would not keep."""
    if not store.signed():
        return
    remedy = "name another directory, or pass --overwrite to replace them."
    if others := differing(store, identity):
        raise ConfigurationError(
            f"{store.directory} has results made with other settings ({', '.join(others)}): {remedy}"
        )
    names = {each.name for each in inputs}
    if gone := [name for name, _ in store.meta("inputs") if name not in names]:
        raise ConfigurationError(
            f"{store.directory} has the results of other sources ({_listed(gone)}): {remedy}"
        )


def kept_seed(store: Store, drawn: int | None) -> int | None:
    """Return the seed of the stored audit, if there is one of this version; else *drawn*."""
    stored = store.meta("identity") or {}
    return stored.get("seed", drawn) if stored.get("version") == VERSION else drawn


def differing(store: Store, identity: dict[str, Any]) -> list[str]:
    """Return the names of the settings in *identity* whose values are not those of the stored signatures."""
    stored = store.meta("identity")
    return [name for name, value in json.loads(json.dumps(identity)).items() if stored.get(name) != value]


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_NAMED], *["…"] * (len(names) > _NAMED)])


def no_pages(inputs: Sequence[Input], store: Store) -> SourceUnavailable:
    """Return an error for an audit without pages: it names problems, or the records that were left out."""
    where = _listed([each.name for each in inputs])
    problems, skipped = list(store.problems()), store.skipped()
    if problems:
        place = ", ".join(filter(None, problems[0][:2]))
        count = f"{len(problems):,} problem" + "s" * (len(problems) > 1)
        return SourceUnavailable(f"No pages in {where}, but {count}, first in {place}: {problems[0][2]}")
    left_out = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in skipped.items())
    nothing = f" (left out: {left_out})" if skipped else ""
    return SourceUnavailable(f"No pages in {where}{nothing}: name what was crawled.")
