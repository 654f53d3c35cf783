"""The index in an LMDB file: a log-structured merge tree. docs/index-format.md says what is in the file.

The index in use: `index` (what the protocol asks), `registry` (each opened once), `contents` (all that is
stored, read as one), `memtable`, `writer` (group commits), `maintenance` (when it is due), `retry`, `tuning`.

What is written: `wal`, `compaction` (flushes and merges), `runs`, `expiry`, `sweeping`, `tombstones`, and
`ledger`, the count of removed documents.

What is read: `snapshot` (what one transaction sees), `partition_cache`, `search`, `ranges`, `equal_keys`;
`reading` and `traversal` for much at once.

Bytes: `layout` (keys, state, runs), `blocks`, `partition`, `sums`.

The file: `environment` (transactions, locks), `memory_map`, `map_reader`, `opening`, `data_file`, `freelist`,
`directory`, `creation`, `recognition`, `forks`, `faults` (errors as sentences).

Commands: `offline` (opening for a command), `inspect`, `check` with `check_blocks`, `check_tables` and
`damage`, `shrink`, `rebuild`.
"""
