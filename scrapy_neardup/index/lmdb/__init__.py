"""The index in an LMDB file: a log-structured merge tree. docs/index-format.md says what is in the file.

The index in use: `index` (what the protocol asks), `memtable` (the newest documents, read as one with the
runs), `writer` (group commits, and when the maintenance is due), `compaction` (flushes, merges, expiry: it
writes runs). What is read: `snapshot` (what one transaction sees) and `search`. `layout` is each key and
value, byte for byte. `environment` has transactions, locks, sizes and times; `directory` says what the file
must be, and what fails. `commands` opens, describes, checks and compacts an index.
"""
