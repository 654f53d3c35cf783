"""A block of a page: a run of text that a reader sees as one, and what its place says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import regex

from scrapy_neardup.fingerprint.paragraphs import length
from scrapy_neardup.fingerprint.prose import ends_sentence, is_paragraph

if TYPE_CHECKING:
    from .regions import Region

#: What teasers, forms for comments, and lists of other articles are said to be within, see `Block.within`.
OTHER_ARTICLES, FORM, LISTED = -1, -2, -3
#: Where a link to the first page of a site leads: to a host, or up to a folder, or to the index of one.
_HOME = regex.compile(
    r"(?:(?:https?:)?//[^/?#]*+)?+/?+(?:\.\.?+/)*+(?:\.\.?+|index\.\w++)?+(?:[?#].*+)?+",
    regex.IGNORECASE | regex.V1,
)
#: How the names of documents end: files that are read, heard, watched or installed, and not browsed.
_ENDINGS = (
    "pdf|epub|mobi|azw3|djvu|rtf|txt|odt|ods|odp|docx?|xlsx?|pptx?|csv|ics|gpx|kml|kmz|torrent|"
    "mp3|m4a|aac|ogg|opus|wav|flac|mp4|m4v|webm|mov|avi|mkv|"
    "zip|7z|rar|tar|tgz|gz|bz2|xz|exe|msi|dmg|pkg|apk|deb|rpm|iso"
)
#: The address of a document, and the name of the file in it. A host is none, nor is a page about a file.
_DOCUMENT = regex.compile(
    rf"(?!(?:\w++:)?//[^?#/]*+(?:[?#]|\Z))(?:[^?#/]*+/)*+([^?#/:]++)(?<=\.(?:{_ENDINGS}))(?:[?#].*+)?",
    regex.IGNORECASE | regex.DOTALL | regex.V1,
)


class Block:
    """A run of text without a line break in it."""

    __slots__ = (
        "article",
        "caption",
        "heading",
        "href",
        "is_link",
        "letters",
        "linked",
        "parent",
        "prose",
        "region",
        "tag",
        "text",
        "within",
    )

    def __init__(
        self,
        text: str,
        linked: int,
        tag: str,
        heading: str,
        region: Region,
        within: int,
        article: int,
        href: str,
        parent: int,
        *,
        caption: bool,
    ) -> None:
        self.text = text
        #: Its length in letters (`length` counts them), and how many of them are of links.
        self.letters = length(text)
        self.linked = min(linked, self.letters)
        #: Whether half of it or more are links.
        self.is_link = self.linked * 2 >= self.letters
        #: Name of the element that it stands in.
        self.tag = tag
        #: The heading that it is or stands in, such as "h2"; empty if there is none.
        self.heading = heading
        #: The region that it stands in; and the number of the element that is the region, 0 if there is none.
        self.region = region
        self.within = within
        #: The number of the article with a headline of its own that it stands in, 0 if there is none.
        self.article = article
        #: The number of the element that holds it; of a paragraph, the one around that.
        self.parent = parent
        #: Where its last link leads; empty if there is none.
        self.href = href
        #: Whether it is the caption of a picture.
        self.caption = caption
        #: Whether it reads like a paragraph of a text.
        self.prose = not self.is_link and is_paragraph(text, self.letters)

    @property
    def ends(self) -> bool:
        """Whether it ends like a sentence."""
        return ends_sentence(self.text)

    @property
    def is_free(self) -> bool:
        """Whether it stands in no region, and is no link."""
        return not self.region and not self.is_link

    @property
    def document(self) -> str:
        """The name of the file that it links to, if that is a document; empty if it is none.

        Such a link is an entry of its page, not a way to another one.
        """
        found = _DOCUMENT.fullmatch(self.href.strip()) if self.href and self.is_link else None
        return "" if found is None else found[1]

    @property
    def leads_home(self) -> bool:
        """Whether it has a link to the first page of the site, as far as the link alone says so."""
        return bool(self.href) and _HOME.fullmatch(self.href.strip()) is not None
