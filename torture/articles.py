"""Articles that no other page repeats: made up in many languages, and real ones if the labelled sets are there."""

from __future__ import annotations

import gzip
import json
import os
import random
from functools import cache
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

DATA = Path(os.environ.get("NEARDUP_DATA", Path(__file__).parents[2] / "shared" / "data"))
#: The labelled sets that have pages of different articles, whose ids end so.
_SETS, _ORIGINAL = ("derived_syndication_multi", "derived_syndication"), "@orig"

#: By language: frequent words, first one most of all, and what other words are made of.
_LANGUAGES = {
    "en": ("the of and to in a is that for it was on are as with his they at be this from have by one had not but "
           "what all were when we there can an your which their said if do will each about how up out them then she "
           "many some so these would other into has more her two like him see time could no make than first been",
           "ba co de fi gra hol in ka lor men nor pa qui ran ster tal un ver win bright ton ing er ly ment"),
    "de": ("der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er "
           "hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor",
           "ab be ge ver stadt haus licht wald schaf ter ung heit keit ig lich zeit rat werk land bau strom"),
    "fr": ("de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son "
           "ont aux mais comme ou si leur y dont cette elle entre faire ces deux même après aussi tout été ans sans",
           "ba cha dé fou gé ju lo mai nou pré rou sa té vi eau ette ment tion eur ier oir age"),
    "es": ("de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si "
           "sin sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está",
           "ba ca de fo gra ju lla mo na pe que ro sa ti vi ción dad mente ero oso ista"),
    "it": ("di e il la che in a per un è del non sono una i si le con da della al dei come ha più anche lo alla ma "
           "delle nel gli su se o dal questo dalla nella ai suo alle fra due tutti era dopo anni prima loro stato",
           "ba ca de fo gia lu mo na pe que ro sa ti vi zione tà mente ino oso ista ghe"),
    "pl": ("w i na z się nie do to że jest o jak od za po są dla ale przez tym co tak przy oraz tylko czy może być "
           "ich jego już był było które który która roku lat tego przed bardzo także ma bez między gdzie po nad",
           "bo cza do gra ka le mi no po ra sta tu wa zy ność owy ski anie enie arz ek"),
    "ru": ("и в не на что с по он как это а но из у за от к о же бы его для то так все она было только мы еще был "
           "при год уже их до или ни быть есть может после которые время также чтобы где между более была сказал",
           "ба ве го да ка ле мо но по ра ста ту хо ция ость ный ский ение ник ок ать"),
    "tr": ("ve bir bu da de için ile çok olarak daha olan en gibi sonra kadar ne var ama o olduğunu değil her iki "
           "göre ise oldu yıl büyük diye tarafından önce bin yeni ilk ya hem yüzde eden üzerinde şey zaman kendi",
           "ba ce da gö ka la me no pe ra sü ta yo lar lik dan mek ci sız lı yor"),
    "ar": ("في من على إلى أن عن التي الذي مع هذا هذه كان قد بعد ما لا كل بين ذلك عند أو ثم كما حتى قال خلال لم أي "
           "قبل منذ حيث هو هي كانت عام يوم غير أكثر تم إن به لها له فيها",
           "با تا جا دا را سا شا عا فا قا كا لا ما نا وا يا ية ون ات ين"),
    "zh": ("的 了 在 是 和 有 不 这 也 他 人 上 们 为 中 就 到 大 以 要 与 对 说 年 会 从 被 还 将 其 后 等",
           "市 政 府 港 口 项 目 花 河 学 校 老 师 春 天 工 程 开 始 居 民 欢 迎 音 乐 票 价 列 车 桥 海 山 城 街 道 "
           "店 铺 新 书 作 家 画 展 馆 员 医 院 研 究 水 电 路 灯 夜 晚 早 晨 雨 雪 风 暴 农 场 米 面 茶 酒 鱼 肉 果"),
    "ja": ("の に は を た が で て と し れ さ ある いる も する から な こと として い や など ない この ため その",
           "市 町 村 港 駅 学 校 先 生 春 夏 工 事 開 始 住 民 歓 迎 音 楽 券 値 列 車 橋 海 山 城 街 道 店 新 本 作 家 "
           "画 展 館 員 病 院 研 究 水 電 路 灯 夜 朝 雨 雪 風 嵐 農 場 米 茶 酒 魚 肉 果 空 星 月 森 川"),
}  # fmt: skip
LANGUAGES = tuple(_LANGUAGES)
_UNSPACED = ("zh", "ja")
#: Words that a language has besides the frequent ones.
_WORDS = 4000
#: Real articles that are read.
_REAL = 150


class Article(NamedTuple):
    title: str
    #: Paragraphs.
    text: list[str]


def article(dice: random.Random, language: str, sentences: int = 24) -> Article:
    """Make up an article: frequent words as often as in real texts, others by Zipf's law, names of its own."""
    frequent, other, weights = _vocabulary(language)
    space = "" if language in _UNSPACED else " "
    names = ["".join(dice.choices(other, k=1)).capitalize() for _ in range(6)]

    def sentence() -> str:
        words = []
        for _ in range(dice.randint(8, 24)):
            kind = dice.random()
            if kind < 0.42:
                words.append(dice.choices(frequent, cum_weights=weights[: len(frequent)])[0])
            elif kind < 0.5:
                words.append(dice.choice(names))
            elif kind < 0.53:
                words.append(str(dice.randint(2, 5000)))
            else:
                words.append(dice.choices(other, cum_weights=weights[: len(other)])[0])
        text = space.join(words)
        return text[:1].upper() + text[1:] + ("。" if language in _UNSPACED else ".")

    text, paragraph = [], []
    for _ in range(sentences):
        paragraph.append(sentence())
        if dice.random() < 0.3:
            text.append(space.join(paragraph))
            paragraph = []
    if paragraph:
        text.append(space.join(paragraph))
    return Article(sentence()[:70], text)


def page_of(title: str, paragraphs: list[str], site: str = "Site", around: str = "") -> str:
    """Put a text into the page of a site with a menu, a footer and *around*, HTML that comes after it."""
    body = "".join(f"<p>{escape(each)}</p>\n" for each in paragraphs)
    menu = "".join(f'<li><a href="/{each}">{each}</a></li>' for each in ("News", "Sport", "Weather", "Shop"))
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{escape(title)} | {escape(site)}</title></head>"
        f"<body><header><a href=/>{escape(site)}</a><nav><ul>{menu}</ul></nav></header>"
        f"<main><article><h1>{escape(title)}</h1>{body}</article>{around}</main>"
        f"<footer><p>© {escape(site)}</p></footer></body></html>"
    )


@cache
def real_pages() -> list[str]:
    """Return the HTML of up to `_REAL` real articles of different pages; none without the labelled sets."""
    found: list[str] = []
    for name in _SETS:
        path = DATA / name / "pages.jsonl.gz"
        if not path.exists():
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            pages = (json.loads(line) for line in lines)
            originals = [each["html"] for each in pages if each["id"].endswith(_ORIGINAL)]
        found += originals[: _REAL // len(_SETS)]
    return found


def words_of(language: str) -> list[str]:
    """Return the words of a language but for its frequent ones."""
    return _vocabulary(language)[1]


@cache
def _vocabulary(language: str) -> tuple[list[str], list[str], list[float]]:
    frequent, parts = (words.split() for words in _LANGUAGES[language])
    dice = random.Random(language)
    lengths = (2,) if language in _UNSPACED else (2, 3, 3, 4)
    other = list(dict.fromkeys("".join(dice.choices(parts, k=dice.choice(lengths))) for _ in range(_WORDS)))
    return frequent, other, [*accumulate(1 / (rank + 2) for rank in range(_WORDS))]
