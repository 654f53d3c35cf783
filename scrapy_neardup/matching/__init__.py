"""What makes two documents near-duplicates: their records, the rules, what is looked up, the site."""
