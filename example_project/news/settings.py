"""Settings of the example; the line that matters is ``ADDONS``."""

from __future__ import annotations

from pathlib import Path

OUT = Path(__file__).parent.parent / "out"
OUT.mkdir(exist_ok=True)  # a report is written into a folder that is there

ADDONS = {"scrapy_neardup.Addon": 700}
# Kept, so that the next crawl knows the pages of this one.
NEARDUP_DIR = str(OUT / "index")
NEARDUP_REPORT = str(OUT / "duplicates.jl")

BOT_NAME = "news"
SPIDER_MODULES = ["news.spiders"]
ITEM_PIPELINES = {"news.pipelines.RequireText": 300}
FEEDS = {str(OUT / "articles.jl"): {"format": "jsonlines", "encoding": "utf-8", "overwrite": True}}

# Breadth first: a story is met on its own site's front page before its copies elsewhere.
DEPTH_PRIORITY = 1
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"

ROBOTSTXT_OBEY = True
LOG_LEVEL = "WARNING"
TELNETCONSOLE_ENABLED = False
