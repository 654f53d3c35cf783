"""The plugin for Scrapy: all that imports Scrapy is here."""
