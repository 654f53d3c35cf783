"""All pairs of pages that repeat each other, and the clusters that they make."""
