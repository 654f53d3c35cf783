"""``scrapy neardup doctor``: is detection on in this project, how is it set, and what becomes of a page."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from scrapy import Request, Spider
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.misc import load_object

from scrapy_neardup.addon import Addon
from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import NearDupError
from scrapy_neardup.extraction import load_extractor
from scrapy_neardup.index.lmdb.directory import is_index
from scrapy_neardup.options import OF_THE_DETECTOR

from .marks import MATCH_KEY, VERDICT_KEY
from .page import CrawledPage
from .settings import CrawlOptions, is_enabled

_ASSIGNED = re.compile(r"ADDONS\s*[:=]")
_LISTS = ("EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES")


def examine(settings: BaseSettings) -> Iterator[tuple[bool, str]]:
    """Yield a line for each thing that matters, and whether it is as it should be."""
    addons = settings.getdict("ADDONS").items()
    on = any(load_object(each) is Addon for each, order in addons if order is not None)
    yield on, f"add-on     {'on' if on else _why_off()}"
    applied = settings.copy()
    if on:
        Addon().update_settings(applied)
    for name in _LISTS:
        orders = [
            f"{load_object(each).__name__} at {order}"
            for each, order in applied.getdict(name).items()
            if order is not None and "NearDup" in str(each)
        ]
        yield bool(orders), f"{name.lower():22} {', '.join(orders) or 'none of this package'}"
    try:
        enabled = is_enabled(settings)
        options = CrawlOptions.from_settings(settings)
        yield enabled, f"settings   {'no mistake' if enabled else 'NEARDUP_ENABLED switches all off'}"
        extractor = load_extractor(options.extractor)
    except NearDupError as error:
        yield False, f"settings   {error}"
        return
    preset = options.preset or "none"
    yield True, f"policy     {options.policy}; revisits: {options.revisits}; preset: {preset}"
    yield _index(options, extractor.identity)
    yield True, f"extractor  {extractor.identity}, {options.processes} workers"
    yield True, f"report     {options.report or 'none: set NEARDUP_REPORT to see each copy'}"


def _index(options: CrawlOptions, extractor: str) -> tuple[bool, str]:
    """Open the index as a crawl does, if there is one; none is made."""
    place = options.store or options.dir
    try:
        if isinstance(place, str) or (place and is_index(place)):
            shape = {name: getattr(options, name) for name in OF_THE_DETECTOR}
            Detector.open(place, extractor=extractor, **shape).close()
        elif place:
            there = next(each for each in (place, *place.absolute().parents) if each.exists())
            if not (there.is_dir() and os.access(there, os.W_OK)):
                return False, f"index      cannot be made in {there}: name another directory (NEARDUP_DIR)"
    except (NearDupError, OSError) as error:
        return False, f"index      {error}"
    return True, f"index      {place or 'none is kept: set NEARDUP_DIR to know pages of earlier crawls'}"


def _why_off() -> str:
    """Say why the add-on is off: a new project has ``ADDONS = {}`` below the line of the user."""
    if not (module := os.environ.get("SCRAPY_SETTINGS_MODULE")):
        return "off: this is no Scrapy project: go to the folder of its scrapy.cfg"
    try:
        source = inspect.getsource(import_module(module))
    except (ImportError, OSError, TypeError):
        source = ""
    lines = [number for number, line in enumerate(source.splitlines(), 1) if _ASSIGNED.match(line)]
    if len(lines) < 2:
        return 'off: put ADDONS = {"scrapy_neardup.Addon": 700} into the settings'
    return f"off: ADDONS in line {lines[-1]} of the settings overrides line {lines[0]}: delete one of them"


class Visit(Spider):
    """Visits one page, tells what became of it as `examine` does, and has it forgotten."""

    name = "neardup_doctor"
    url: str
    tell: Callable[[bool, str], None]

    async def start(self) -> Any:
        try:
            yield Request(self.url, errback=self.failed, meta={"neardup": "tag"}, dont_filter=True)
        except ValueError as error:  # of what is no URL
            self.tell(False, f"download   failed: {error}")

    def parse(self, response: Response) -> Any:
        kind = (response.headers.get("Content-Type") or b"no type").decode("latin-1")
        self.tell(True, f"download   {response.status}, {kind}, {len(response.body):,} bytes: {response.url}")
        assert response.request is not None
        found = CrawledPage.in_progress[response.request].extraction
        if isinstance(found, str):
            self.tell(False, f"main text  not looked for: {found}")
        elif found.signature is None:
            self.tell(False, f"main text  none: {found.reason} {found.detail or ''}")
        else:
            self.tell(True, f"main text  {found.signature.tokens} words, in {found.seconds:.2f} s")
        verdict, match = response.meta.get(VERDICT_KEY), response.meta.get(MATCH_KEY)
        repeats = f", repeats {match['url']} (similarity {match['similarity']})" if match else ""
        self.tell(verdict is not None, f"verdict    {verdict or 'none'}{repeats}")
        raise CloseSpider("seen")  # so that the page is not kept in the index

    def failed(self, failure: Any) -> None:
        self.tell(False, f"download   failed: {failure.getErrorMessage()}")


def settings_of_visit(settings: BaseSettings) -> Settings:
    """Return the settings in which `Visit` crawls: it empties no index, and takes part in no job."""
    changed = Settings()
    changed.setdict(settings.copy_to_dict(), priority="project")
    folder = CrawlOptions.from_settings(settings).dir
    index = folder and str(folder.absolute())
    changed.setdict({"JOBDIR": None, "NEARDUP_DIR": index, "NEARDUP_RESET": False, "FEEDS": {}}, "cmdline")
    return changed
