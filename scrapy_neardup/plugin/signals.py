"""Signals that the plugin sends. Handlers are functions or coroutine functions; see docs/scrapy.md."""

from __future__ import annotations

#: ``handler(response, verdict, policy, spider)``: a page repeats a stored one.
#: Sent before the page's callback is called.
page_duplicate = object()

#: ``handler(response, verdict, policy, spider)``: a page whose URL is stored already comes again; the policy
#: is ``keep``, ``drop_items`` or ``drop_page``. Sent before the page's callback is called.
page_revisited = object()

#: ``handler(url, host, kept, story, seen, spider)``: *url* shows what the page at *kept* has, whose item is
#: stored and whose story has this identifier. Sent once it is known that no item of the copy is kept beside.
copy_seen = object()
