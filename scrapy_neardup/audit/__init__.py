"""The audit of a finished crawl."""
