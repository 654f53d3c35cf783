"""The index in an LMDB file: a log-structured merge tree. docs/index-format.md says what is in the file.

`index` is what the protocol asks, `memtable` the newest documents, `writer` their group commits, `compaction`
flushes, merges and expires, `snapshot` is what one transaction sees. `layout` has each key and value,
`environment` the transactions, locks, sizes and times, `directory` what the file must be and what fails,
`commands` what is done to a whole index: describe, check, compact.
"""
