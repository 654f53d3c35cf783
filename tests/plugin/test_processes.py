"""Crawls in processes of their own: each kind of event loop, the scrapy command, kill and resume."""

import json
import subprocess
import sys
from itertools import product

import pytest

pytestmark = pytest.mark.slow

SPIDER = """
import json, os, sys, time
import scrapy
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

SITE = os.environ.get("SITE", "")

class Copies(scrapy.Spider):
    name = "copies"
    paths = json.loads(os.environ.get("PATHS", "[]"))
    custom_settings = {
        "ADDONS": {"scrapy_neardup.addon.Addon": 700},
        "NEARDUP_EXTRACTOR": "plain",
        "NEARDUP_WORKERS": 1,
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        **json.loads(os.environ.get("SETTINGS", "{}")),
    }

    async def start(self):
        for path in self.paths:
            yield scrapy.Request(SITE + path, self.parse, errback=self.failed)

    def parse(self, response):
        yield {"url": response.url, "text": response.css("p::text").get()}

    def failed(self, failure):
        pass

    def closed(self, reason):
        stats = self.crawler.stats.get_stats()
        with open(os.environ.get("STATS", os.devnull), "a") as file:
            print(json.dumps({k: v for k, v in stats.items() if isinstance(v, (int, float))}), file=file)
"""
MAIN = """
class Other(Copies):
    name = "other"

if __name__ == "__main__":
    how, crawlers = sys.argv[1], int(sys.argv[2])
    settings = {}
    if how == "select":
        settings["TWISTED_REACTOR"] = "twisted.internet.selectreactor.SelectReactor"
    if how == "reactorless":
        settings["TWISTED_REACTOR_ENABLED"] = False
    process = (CrawlerProcess if how == "select" else AsyncCrawlerProcess)(settings)
    for spider in (Copies, Other)[:crawlers]:
        process.crawl(spider)
    process.start()
"""


@pytest.fixture
def run(site, tmp_path, environment):
    """Run the script of SPIDER with *arguments*; return the stats of each crawl and its log."""
    script = tmp_path / "script.py"
    script.write_text(SPIDER + MAIN)
    stats = tmp_path / "stats.jsonl"
    output = tmp_path / "log"

    def start(arguments, urls=(), command=None, **settings):
        env = {
            **environment,
            "SITE": site.url,
            "PATHS": json.dumps([url.removeprefix(site.url) for url in urls]),
            "SETTINGS": json.dumps(settings),
            "STATS": str(stats),
        }
        command = [sys.executable, *(command or [str(script)]), *arguments]
        with output.open("w") as file:  # a pipe would fill up while nobody reads it
            return subprocess.Popen(command, cwd=tmp_path, env=env, stdout=file, stderr=subprocess.STDOUT)

    def finish(*args, **kwargs):
        stats.unlink(missing_ok=True)
        code = start(*args, **kwargs).wait(timeout=90)
        lines = stats.read_text().splitlines() if stats.exists() else []
        return code, [json.loads(line) for line in lines], output.read_text()

    finish.start = start
    return finish


@pytest.mark.parametrize(
    ("how", "policy", "on_server"),
    [("asyncio", "tag", 0), *product(["asyncio", "select", "reactorless"], ["drop_page"], [1])],
)
def test_every_event_loop(site, run, how, policy, on_server, request):
    settings = {"NEARDUP_POLICY": policy, "NEARDUP_ITEM_FIELDS": ["text"]}
    if on_server:
        settings["NEARDUP_STORE"] = request.getfixturevalue("redis_url")
    code, (stats,), log = run([how, "1"], site.copies(6), **settings)
    assert code == 0
    assert "Traceback" not in log
    assert (stats["neardup/unique"], stats["neardup/duplicate"], stats["neardup/confirmed"]) == (1, 5, 1)
    assert stats["item_scraped_count"] == (6 if policy == "tag" else 1)
    assert stats["neardup/item/unique"] == stats["neardup/item/confirmed"] == 1
    assert not [name for name in stats if name.startswith("neardup/error")]


@pytest.mark.parametrize("how", ["asyncio", "reactorless"])
def test_two_crawlers_of_one_process_share_an_index(site, run, how):
    urls = [site.article(f"/{number}", seed=number) for number in range(4)]
    code, (one, two), log = run([how, "2"], urls, NEARDUP_DIR="index")
    assert code == 0
    assert "Traceback" not in log
    assert one.get("neardup/unique", 0) + two.get("neardup/unique", 0) == 4
    assert one.get("neardup/revisit", 0) + two.get("neardup/revisit", 0) == 4


def test_pause_and_resume_with_jobdir(site, run, tmp_path):
    urls = [site.article(f"/{number}", seed=number % 5) for number in range(10)]
    settings = {"JOBDIR": "job", "FEEDS": {"feed.jsonl": {"format": "jsonlines"}}, "CONCURRENT_REQUESTS": 1}
    _, (first,), _ = run(["asyncio", "1"], urls, **settings, CLOSESPIDER_PAGECOUNT=3)
    assert (tmp_path / "job" / "neardup").exists()
    _, (second,), log = run(["asyncio", "1"], urls, **settings)
    assert "Unable to serialize request" not in log
    assert 1 <= first["neardup/unique"] < 5
    assert first["neardup/unique"] + second["neardup/unique"] == 5
    assert second["neardup/duplicate"] == 5
    assert "'neardup/index/documents': 5," in log  # a gauge, set later than the spider's closed()
    items = [json.loads(line)["url"] for line in (tmp_path / "feed.jsonl").read_text().splitlines()]
    assert sorted(items) == sorted(urls[:5])


def test_command_ends_with_one_clear_line(site, run):
    urls = [site.article("/a")]
    command = ["-m", "scrapy", "runspider", "script.py"]
    code, stats, log = run([], urls, command=command, NEARDUP_POLICY="drop")
    assert code == 1
    assert not stats
    assert not site.hits
    assert "Traceback" not in log
    last = log.strip().splitlines()[-1]
    assert last == "scrapy_neardup: NEARDUP_POLICY is 'drop': set it to 'tag' or 'drop_items' or 'drop_page'."


@pytest.mark.parametrize("command", ["fetch", "check", "shell"])
def test_other_commands_record_nothing(site, run, tmp_path, command):
    url = site.article("/a")
    arguments = {
        "fetch": ["fetch", "--spider", "copies", url],
        "check": ["check", "copies"],
        "shell": ["shell", "--spider", "copies", url, "-c", "response.status"],
    }[command]
    project = tmp_path / "project"
    project.mkdir()
    (project / "__init__.py").touch()
    contract = f'"""\n        @url {url}\n        @returns items 1\n        """\n        yield'
    (project / "spider.py").write_text(SPIDER.replace("yield {", contract + " {"))
    (project / "settings.py").write_text("SPIDER_MODULES = ['project.spider']\n")
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
    code, _, log = run(arguments, command=["-m", "scrapy"], NEARDUP_DIR="index", NEARDUP_RESET=True)
    assert code == 0, log
    assert site.hits["/a"] == 1, log
    assert "Traceback" not in log
    assert not (tmp_path / ".scrapy" / "index").exists()
