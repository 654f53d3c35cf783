"""The index in an LMDB file: a log-structured merge tree. docs/index-format.md says what is in the file.

The index in use: `index` (what the protocol asks), `writer` (the memtable, which has the newest documents,
group commits of it, and when the maintenance is due), `compaction` (flushes, merges, expiry).
`snapshot` is what one transaction sees, and how it is searched. `layout` is each key and value, byte for
byte. `environment` has transactions, locks, sizes and times; `directory` says what the file must be, and what
fails. `commands` opens, describes, checks and compacts an index.
"""
