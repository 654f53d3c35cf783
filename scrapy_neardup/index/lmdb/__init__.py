"""The index in an LMDB file: a log-structured merge tree. docs/index-format.md says what is in the file.

The index in use: `index` (what the protocol asks), `memtable` (the newest documents, read as one with the
runs), `writer` (group commits, and when the maintenance is due), `compaction` (flushes, merges, expiry).

What is read: `snapshot` (what one transaction sees) and `search`. What is written: `runs`, and the log.

Bytes: `layout` (keys, state, tombstones, header), `blocks` (documents and partitions of tables).

The file: `environment` (transactions, locks), `directory` (what it must be), `faults` (errors as sentences).

Commands: `commands` (opening, describing, compacting), `check`, `rebuild`. All sizes and times: `tuning`.
"""
