"""Figures are counted right; parameters are judged by what they changed, paths by what they repeat."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.output.report.figures import MOST, Cause, count_figures, find_causes
from scrapy_neardup.audit.urls import split_url

from .crawl import large_crawl, report_data, small_crawl


def found(groups: list[list[str]]) -> dict[tuple[str, str], Cause]:
    """Find the causes in clusters of URLs, the first of each being canonical."""
    urls = [url for group in groups for url in group]
    canonical = np.repeat(np.cumsum([0, *map(len, groups)])[:-1], [len(group) for group in groups])
    split = [split_url(url) for url in urls]
    causes = find_causes(urls, split, canonical != np.arange(len(urls)), canonical)
    return {(cause.kind, cause.name): cause for cause in causes}


def test_figures_of_a_small_crawl() -> None:
    figures = count_figures(small_crawl(), 2)
    assert (figures["pageCount"], figures["clusterCount"], figures["largest"]) == (30, 3, 4)
    assert [(row["host"], row["pages"], row["near"]) for row in figures["hosts"]] == [
        ("news.example", 13, 1), ("wire.example", 2, 2), ("(1 other hosts)", 15, 0),
    ]  # fmt: skip
    pair = figures["hostPairs"][0]
    assert [pair[name] for name in ("a", "b", "ab", "ba")] == ["wire.example", "news.example", 2, 0]
    assert figures["sizes"][:3] == [("2", 1), ("3", 1), ("4–5", 1)]
    assert [counts for counts in figures["similarities"] if any(counts)] == [
        [0, 1], [0, 1], [1, 0], [0, 1], [0, 1], [3, 0], [0, 1],
    ]  # fmt: skip
    assert len(figures["days"]) == 30


def test_pairs_of_hosts_are_those_counted_one_by_one() -> None:
    data = large_crawl(40)
    hosts = [split_url(url).host for url in data.pages["url"]]
    counts: Counter[tuple[str, str]] = Counter()
    for page, original in enumerate(data.canonical_rows().tolist()):
        if data.pages["verdict"][page] in ("near", "exact") and hosts[page] != hosts[original]:
            counts[hosts[page], hosts[original]] += 1
    rows = count_figures(data, 100)["hostPairs"]
    assert {(row["a"], row["b"]): (row["ab"], row["ba"]) for row in rows} == {
        pair: (count, counts[pair[::-1]]) for pair, count in counts.items()
        if (count, pair[1]) > (counts[pair[::-1]], pair[0])
    }  # fmt: skip


@given(st.lists(st.tuples(st.text(), st.integers(0, 3), st.floats()), max_size=30))
def test_any_strings_are_counted_right(rows: list[tuple[str, int, float]]) -> None:
    urls = [url for url, _, _ in rows]
    labels = [label for _, label, _ in rows]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    clusters = [numbers[label] for label in labels]
    verdicts = ["unique" if clusters.index(label) == row else "near" for row, label in enumerate(clusters)]
    fetched = np.array([time for _, _, time in rows], float)
    figures = count_figures(report_data(urls, clusters, verdicts, [], [None] * len(rows), fetched=fetched), 2)
    assert figures["verdicts"]["near"] == verdicts.count("near")
    assert sum(row["pages"] for row in figures["hosts"]) == len(rows)
    for cause in figures["causes"]:
        assert 2 <= cause["repeats"] <= cause["pages"] <= len(rows)
        assert {*cause["example"]} <= {*urls}


def test_parameter_that_changes_nothing() -> None:
    groups = [[f"https://a.example/{i}", f"https://a.example/{i}?utm_source=x"] for i in range(5)]
    cause = found(groups)["parameter", "utm_source"]
    assert (cause.pages, cause.repeats) == (5, 5)
    assert cause.example == ["https://a.example/0?utm_source=x", "https://a.example/0"]
    assert cause.said == "Alone, it left the text the same in 5 of 5 comparisons."


def test_parameter_that_selects_the_content() -> None:
    # Each story is there twice for another reason: its two hosts.
    groups = [[f"https://a.example/?id={i}", f"https://b.example/?id={i}"] for i in range(6)]
    cause = found(groups)["parameter", "id"]
    assert (cause.pages, cause.repeats) == (12, 6)
    assert cause.said == "Alone, it left the text the same in 0 of 10 comparisons."


def test_path_that_repeats_another() -> None:
    groups = [
        [f"https://a.example/news/a-long-slug-{i}", f"https://a.example/archive/2024/{i}"] for i in range(20)
    ]
    cause = found(groups)["path", "a.example/archive/{date}/{number}"]
    assert (cause.pages, cause.repeats) == (20, 20)
    assert cause.said == "100% of its repeats are of a.example/news/{slug}."


def test_path_of_nearly_all_pages_is_left_out() -> None:
    """As of texts that have file names or identifiers instead of URLs."""
    others = [[f"https://a.example/{i}"] for i in range(10)]
    for start, name in (("file:///x/", {"/x/{id}"}), ("", set())):
        groups = [[f"{start}9f86d081884c{i:04}", f"{start}60303ae22b99{i:04}"] for i in range(20)]
        assert found(groups) == {}
        assert {name for _, name in found(groups + others)} == name


def test_path_that_repeats_less_than_usual_is_left_out() -> None:
    groups = [[f"https://a.example/x/{i}", f"https://b.example/y/{i}"] for i in range(20)]
    groups.append([f"https://a.example/x/{i}" for i in range(20, 23)])  # two repeats of 23 pages
    assert {name for kind, name in found(groups) if kind == "path"} == {"b.example/y/{number}"}


def test_names_become_variables_when_they_are_many() -> None:
    others = [[f"https://b.example/{i}"] for i in range(10)]

    def paths(names: list[str]) -> set[str]:
        groups = [[f"https://a.example/{name}/1", f"https://a.example/{name}/2"] for name in names]
        return {name for kind, name in found(groups + others) if kind == "path"}

    assert paths(["news", "sport"]) == set()  # one repeat each is chance
    assert paths([f"user{chr(97 + i)}" for i in range(20)]) == {"a.example/{name}/{number}"}


def test_most_repeats_first_and_not_too_many() -> None:
    groups = [
        [f"https://a.example/{i}", *(f"https://a.example/{i}?p{j}=1" for j in range(80))] for i in range(3)
    ]
    causes = [cause for cause in found(groups).values() if cause.kind == "parameter"]
    assert len(causes) == MOST
    assert [cause.repeats for cause in causes] == sorted((cause.repeats for cause in causes), reverse=True)
