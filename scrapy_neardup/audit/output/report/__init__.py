"""One HTML file that shows what a crawl repeats; it opens from disk and needs no network."""

from .data import PAIR_KINDS, VERDICTS, Pages, Pairs, Problem, ReportData, Source, Summary
from .write import write_report

__all__ = [
    "PAIR_KINDS",
    "VERDICTS",
    "Pages",
    "Pairs",
    "Problem",
    "ReportData",
    "Source",
    "Summary",
    "write_report",
]
