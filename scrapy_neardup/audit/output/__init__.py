"""What an audit writes: JSON lines, tables, the list of URLs to drop, the report."""
