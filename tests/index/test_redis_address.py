"""The URL of an index on a server says which server, which database, which index; nothing secret is shown."""

from __future__ import annotations

import pytest

from scrapy_neardup.errors import ConfigurationError

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address


def test_a_url_of_a_cluster_names_some_of_its_nodes() -> None:
    address = Address.parse("rediss+cluster://me:p%40ss@one:1,two,[::1]:3/0?name=news&ssl_cert_reqs=none")
    assert address.server == "rediss://me:p%40ss@?ssl_cert_reqs=none"
    assert address.hosts == (("one", 1), ("two", 6379), ("::1", 3))
    assert address.name == "news"
    assert address.shown == "rediss+cluster://one:1,two,[::1]:3/0?name=news&ssl_cert_reqs=none"
    assert Address.parse("redis+cluster://one").hosts == (("one", 6379),)


@pytest.mark.parametrize(
    "url",
    [
        "redis+cluster://u:secret@host:1,other:2/3",
        "redis+cluster://u:secret@host:1,other:port",
        "redis+cluster://u:secret@host:1/pages",
        "redis+cluster://u@host:1?sentinel_password=secret",
        "redis+cluster://u:secret@host:1?ssl_cert_reqs=none",
        "redis+sentinel://u:secret@host:1/",
        "redis+sentinel://u:secret@host:1,other:port/pages",
        "redis+sentinel://u:secret@host:1/pages/news",
        "redis+sentinel://u:secret@host:1/pages/0/0",
        "redis+sentinel://u@host:1/pages?sentinel_password=secret&ssl_cert_reqs=none",
        "redis://u:secret@host:1,other:2/0",
        "redis://u@host:1/0?sentinel_password=secret",
        "redis://u:secret@host:port/0",
        "redis://u:secret@host/news",
        "redis://u:secret@host/0?name=a{b}",
        "redis://u:secret@host/0?name=",
        "redis://u:secret@host/0?nmae=news",
        "redis://u:secret@host/0?ssl_cert_reqs=none",
        "redis://u:secret@host/0#news",
        "unix://u:secret@host?db=0",
        "unix:///run/redis.sock?db=first",
    ],
)
def test_what_cannot_be_meant_is_one_sentence_without_the_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match="use ") as error:
        Address.parse(url)
    assert "secret" not in str(error.value)
