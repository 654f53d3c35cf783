"""Fingerprints of real main texts, against the libraries that make some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice

from scrapy_neardup import Features, Fingerprinter
from scrapy_neardup.fingerprint.hashing import Terms, hash_tokens
from scrapy_neardup.fingerprint.main_text import long_paragraphs
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.simhash import fingerprints
from scrapy_neardup.fingerprint.sketch import sketch_each
from scrapy_neardup.fingerprint.tokens import BETWEEN, HAN, Tokens, tokenise

from . import inputs
from .measuring import Finding, Form, Goal, interleave, timed

SHINGLE = 5
#: Texts that are taken together, as an audit does.
GROUP = 16


def measure(form: Form) -> Iterator[Finding]:
    import datasketch
    import rensa
    import simhash

    texts = list(islice(cycle(inputs.texts(form.data)), 200 if form.quick else 1000))
    features = Features()
    fingerprinter = Fingerprinter(features, 1)
    groups = [texts[start : start + GROUP] for start in range(0, len(texts), GROUP)]
    mains = [
        [long_paragraphs(normalise(text), features.min_paragraph)[0] for text in group] for group in groups
    ]
    tokens = [tokenise(BETWEEN.join(group)) for group in mains]
    words = [tokenise(text).words for group in mains for text in group]
    shingles = [joined(each) for each in words]
    encoded = [[shingle.encode() for shingle in each] for each in shingles]

    def our_simhashes(texts: list[str]) -> None:
        mains = [long_paragraphs(normalise(text), features.min_paragraph)[0] for text in texts]
        terms = hashed(tokenise(BETWEEN.join(mains)))
        fingerprints(*terms.votes(features.shingle, HAN), features.weight)

    def our_sketches(tokens: Tokens) -> None:
        sketch_each(hashed(tokens).shingles(SHINGLE))

    def by_rensa(shingles: list[str]) -> None:
        minhash = rensa.RMinHash(num_perm=128, seed=1)
        minhash.update(shingles)
        minhash.digest()

    def each(work: Callable[..., object], *arguments: list) -> Callable[[], float]:
        def run() -> float:
            return timed(lambda: [work(*row) for row in zip(*arguments, strict=True)]) / len(texts) * 1e6

        return run

    tasks: dict[str, Callable[[], float]] = {
        "SimHash": each(our_simhashes, groups),
        "signature": each(lambda group: list(fingerprinter.signatures(group)), groups),
        "one signature": each(fingerprinter.signature, texts),
        "sketch": each(our_sketches, tokens),
        "simhash": each(lambda text: simhash.Simhash(text).value, texts),
        "datasketch": each(lambda rows: datasketch.MinHash(128).update_batch(rows), encoded),
        "rensa from words": each(lambda each: by_rensa(joined(each)), words),
    }
    found = interleave(form.repeats, tasks)
    mean = round(sum(map(len, words)) / len(words))
    note = f"mean of {len(texts)} texts, {mean} words"
    whole = "SimHash, sketch, digest, numbers and anchors"
    together = f"ours {GROUP} at a time; its defaults: character 4-grams"
    sketch, tokenised = "sketch of word 5-shingles", "ours from tokens, its"
    for work, ours, peer, goal, more in (
        ("SimHash of a text", "SimHash", "simhash", 40, together),
        (f"{whole} of a text", "signature", "simhash", 30, together),
        (f"{whole} of a text, one by one", "one signature", "simhash", 20, "as a crawl does"),
        (sketch, "sketch", "rensa from words", 1, f"{tokenised} from a list of them; RMinHash(128)"),
        (sketch, "sketch", "datasketch", None, f"{tokenised} shingles ready; MinHash(128)"),
    ):
        bound = Goal(goal, ratio=True) if goal else None
        yield Finding(work, 0, "µs", found[ours], peer, found[peer], bound, f"{more}; {note}")


def hashed(tokens: Tokens) -> Terms:
    return Terms(tokens, hash_tokens(tokens, seed=1), tokens.bounds, SHINGLE)


def joined(words: list[str]) -> list[str]:
    """Return the shingles as strings, as peers want them."""
    return [" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))]
