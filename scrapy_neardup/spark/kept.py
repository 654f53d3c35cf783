"""What an audit on Spark keeps for later ones: signatures, and the settings that they were made with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import load_extractor
from scrapy_neardup.index import Documents
from scrapy_neardup.index.stores import open_index
from scrapy_neardup.matching.records import filed_url, header_for

from .columns import keys_of, numbers, records_of, texts

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from .frames import Workspace

#: The names of what is kept, in the folder of an audit.
SIGNATURES, SETTINGS = "signatures.parquet", "settings.json"
#: Documents that are added to an index at a time.
_ROWS = 1 << 14


def write_settings(space: Workspace, settings: AuditOptions) -> None:
    """Keep *settings*, with what signatures depend on."""
    content = {"settings": settings.to_json(), "identity": settings.identity()}
    space.write_text(SETTINGS, json.dumps(content) + "\n")


def with_seed_of(space: Workspace, earlier: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings *given* with the seed of *earlier* audits, whose signatures are to be used.

    Raises `ConfigurationError` if the signatures could not be compared.
    """
    identities = [
        json.loads(space.read_text(f"{folder.rstrip('/')}/{SETTINGS}"))["identity"] for folder in earlier
    ]
    if not identities:
        return given
    if given.get("seed") is None:
        given = {**given, "seed": identities[0]["seed"]}
    own = json.loads(json.dumps(AuditOptions(**given).identity()))
    for folder, identity in zip(earlier, identities, strict=True):
        if others := sorted(name for name, value in own.items() if identity.get(name) != value):
            raise ConfigurationError(
                f"The signatures in {folder} were made with other settings ({', '.join(others)}): use the "
                "same, or name the sources of that audit in place of it."
            )
    return given


def signatures_of(space: Workspace, folder: str, like: DataFrame) -> DataFrame:
    """Return the signed pages of the audit in *folder*."""
    columns = [name for name in like.columns if name != "id"]
    earlier = space.spark.read.parquet(f"{folder.rstrip('/')}/{SIGNATURES}").select(*columns)
    return earlier.where("kind = 'page'")


def make_index(folder: str | os.PathLike[str], where: str) -> int:
    """File the pages of the audit in *folder*, on this machine, in a new index; return how many.

    A crawl whose ``NEARDUP_DIR`` or ``NEARDUP_STORE`` is *where*, a directory or a URL, knows these pages
    from the start. Walls and short texts are left out. Raises `ConfigurationError` and what the index raises.
    """
    import pyarrow.dataset

    content = json.loads(Path(folder, SETTINGS).read_text(encoding="utf-8"))
    settings = AuditOptions.from_json(content["settings"])
    extractor = settings.area.identity(load_extractor(settings.extractor).identity)
    header = header_for(settings.fingerprinter, extractor)
    count = 0
    index = open_index(where, header)
    try:
        if index.header.seed != header.seed:
            raise ConfigurationError(f"{where} is an index with another seed: name a new one.")
        table = pyarrow.dataset.dataset(str(Path(folder, SIGNATURES)), format="parquet")
        columns = ["url", "fetched", "keys", "record", "wall"]
        signed = pyarrow.dataset.field("record").is_valid()
        for batch in table.to_batches(columns=columns, filter=signed, batch_size=_ROWS):
            if not batch.num_rows:
                continue
            records = records_of(batch, header)
            fetched = [0 if time is None else int(time) for time in texts(batch, "fetched")]
            records["time"] = np.clip(fetched, 0, 2**32 - 1)
            urls = [filed_url(url) for url in texts(batch, "url")]
            fit = (records["tokens"] >= max(settings.min_tokens, 1)) & ~numbers(batch, "wall")
            documents = Documents(keys_of(batch, header), records, urls, [b""] * len(urls))
            documents = documents.take(np.flatnonzero(fit))
            index.add(documents)
            count += len(documents.urls)
    finally:
        index.close()
    return count
