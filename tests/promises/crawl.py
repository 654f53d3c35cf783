"""Crawl the site of site.py, each item into a file: crawl.py BASE STORIES INDEX OUT SEED [JOBDIR]."""

import json
import os
import random
import sys
import time

import scrapy
from scrapy.crawler import CrawlerProcess

base, stories, index, out, seed, *job = sys.argv[1:]


class Pipeline:
    def open_spider(self) -> None:
        self.file = os.open(out, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def process_item(self, item: dict) -> dict:
        os.write(self.file, json.dumps({**item, "time": time.time()}).encode() + b"\n")
        return item

    def close_spider(self) -> None:
        os.close(self.file)


class Spider(scrapy.Spider):
    name = "stories"

    async def start(self):
        urls = [f"{base}/{template}/{number}" for number in range(int(stories)) for template in "ab"]
        random.Random(seed).shuffle(urls)
        for url in urls:
            yield scrapy.Request(url)

    def parse(self, response):
        yield {"url": response.url, "story": int(response.url.rsplit("/", 1)[1])}


process = CrawlerProcess(
    {
        "ADDONS": {"scrapy_neardup.Addon": 700},
        "NEARDUP_DIR": index,
        "NEARDUP_EXTRACTOR": "plain",
        "NEARDUP_WORKERS": 1,
        "ITEM_PIPELINES": {Pipeline: 800},
        "DOWNLOAD_DELAY": 0.01,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        **({"JOBDIR": job[0]} if job else {}),
    }
)
crawler = process.create_crawler(Spider)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
print(json.dumps({key: value for key, value in stats.items() if key.startswith("neardup/")}))
