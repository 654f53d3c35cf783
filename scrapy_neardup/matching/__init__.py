"""What makes two documents near-duplicates: `matcher` decides, by the `rules`, on the `records` of both."""
