"""One HTML file that shows what a crawl repeats. It opens from disk and needs no network."""

from .data import Limits, Particulars, ReportData
from .write import write_report

__all__ = ["Limits", "Particulars", "ReportData", "write_report"]
