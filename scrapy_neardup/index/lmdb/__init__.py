"""The index on disk: a log-structured merge tree in LMDB. docs/index-format.md describes every byte of it."""
