"""What is said of two texts is what decided about them: the rule that `verify` names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.explaining import Document, explain, reason
from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.matching.rules import Evidence, verify

from .corpora import edited, template, text

OPTIONS = AuditOptions(seed=0)


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, width=32)


@given(
    st.builds(
        Evidence,
        jaccard=numbers(0, 1), containment=numbers(0, 1), substituted=st.integers(0, 9),
        numbers=st.integers(0, 30), tokens=st.integers(40, 3000), known=numbers(0, 1), length=numbers(0, 3),
        varied=st.booleans(), one_site=st.booleans(), two_sites=st.just(False), title=st.integers(0, 3),
        titled=st.integers(0, 9), retitled=st.integers(0, 6), values=st.integers(0, 5),
    ),
    st.booleans(),
)  # fmt: skip
def test_what_decides_is_said_in_words(drawn: Evidence, elsewhere: bool) -> None:
    drawn = drawn._replace(two_sites=elsewhere and not drawn.one_site)
    told: dict[str, Any] = drawn._asdict()
    verify(Evidence(*map(np.array, drawn)), told)
    assert reason({name: value.item() if hasattr(value, "item") else value for name, value in told.items()})


def said(
    one: str, other: str, site: str = "https://a.example/", titles: tuple[str, str] = ("", "")
) -> tuple[str, str]:
    a = Document(MainText(one, titles[0]), site)
    b = Document(MainText(other, titles[1]), "https://a.example/b")
    found = explain(a, b, OPTIONS)
    return found["verdict"], found["why"]


LINES = "\n".join(f"Value {text(('line', n), 2)}" for n in range(30))
OTHERS = "\n".join(f"Value {text(('other', n), 2)}" for n in range(30))


@pytest.mark.parametrize(
    ("found", "verdict", "words"),
    [
        (lambda: said(text(1), edited(text(1), 3)), "near", "alike enough: similarity 0.9"),
        (lambda: said(template(0, 1), template(0, 2)), "template", "as pages of a template: substituted 3"),
        (
            lambda: said(text(1), edited(text(1), 2), titles=("A red kettle", "A blue pan")),
            "template", "alike but for the title, as pages of a template: ",
        ),
        (
            lambda: said(f"{text(1)}\n{LINES}", f"{text(1)}\n{OTHERS}"),
            "template", "alike but for the short lines, as pages of a template: ",
        ),
        (lambda: said(text(1), edited(text(1), 80)), "different", "not alike enough: similarity 0."),
        (lambda: said(text(1), edited(text(1), 40), "https://b.example/"), "near", "alike enough"),
        (lambda: said(f"{text(1)} {text(2)}", text(1)), "fuller", "fuller: known 0.48"),
    ],
)  # fmt: skip
def test_the_true_reason_is_given(found: Any, verdict: str, words: str) -> None:
    was, why = found()
    assert was == verdict, why
    assert words in why
