"""One of several crawlers: they share their requests (scrapy-redis) and their index, on one Redis server.

The environment says where the server is (REDIS_URL) and what this crawler is called (CRAWLER).
"""

from __future__ import annotations

import os

from news.settings import *
from news.settings import OUT

CRAWLER = os.environ.get("CRAWLER", "crawler")
CLUSTER = OUT / "cluster"

# Requests: each is made by whichever crawler is free.
REDIS_URL = os.environ["REDIS_URL"]
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
# Without this, the crawler that ends first empties the queue of the others.
SCHEDULER_PERSIST = True
EXTENSIONS = {"news.waiting.WaitForOthers": 500}
# A crawler that finds no request looks again after 5 seconds. The other one is not done by then.
DOWNLOAD_DELAY = 0.15

LOG_LEVEL = "ERROR"

# Pages: of copies that two crawlers meet, one is kept.
NEARDUP_STORE = f"{REDIS_URL}?name=news"
NEARDUP_DIR = None
NEARDUP_REPORT = str(CLUSTER / f"{CRAWLER}.duplicates.jl")
FEEDS = {str(CLUSTER / f"{CRAWLER}.articles.jl"): {"format": "jsonlines", "encoding": "utf-8"}}
