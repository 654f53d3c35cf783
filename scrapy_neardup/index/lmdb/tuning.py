"""All sizes and times of an index on disk that are not part of its format.

Two processes may use one index with different values. Sizes that decide how stored bytes are read are
constants of the modules that read them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Sizes and times of an index. The defaults are meant for crawls; tests make all of them small."""

    # Commits

    #: A group commit holds at most so many documents.
    group_documents: int = 1000
    #: A confirmed document waits at most so long for its group commit. With the commit itself, the two keep
    #: what a crash forgets below 1,000 documents or one second.
    group_seconds: float = 0.5
    #: The writer waits so long after a first failed commit, then twice as long after each further one …
    first_retry_seconds: float = 1.0
    #: … up to this. Maintenance that has failed waits this long, too.
    last_retry_seconds: float = 30.0
    #: So many documents are kept in memory while the disk cannot be written. Beyond them the oldest are
    #: forgotten.
    backlog_documents: int = 100_000
    #: Flushing and closing wait so long for the disk.
    disk_wait_seconds: float = 10.0

    # Maintenance

    #: The write-ahead log is flushed into a run when it holds so many documents. They are in memory until
    #: then.
    flush_documents: int = 1 << 14
    #: A bulk load puts at most so many documents into one transaction.
    load_documents: int = 1 << 20
    #: A transaction of the maintenance writes or frees about so much. Other writers wait for it, and LMDB
    #: writes the list of what a transaction has freed again with each later one that uses some of it.
    transaction_bytes: int = 1 << 22
    #: A block of a run holds so many documents, which makes it about as large as a partition.
    block_documents: int = 1 << 11
    #: A partition holds about so many entries: 384 KB, so that LMDB finds room for it among freed pages.
    partition_entries: int = 1 << 15
    #: With a window, the writer looks so often for runs that have expired.
    expiry_seconds: float = 3600.0

    # Memory

    #: Address space reserved for the file at first. The file itself grows as it is used, and the map with it.
    map_bytes: int = 1 << 36
    #: Where the system does not allow that much address space, the map is halved down to this.
    min_map_bytes: int = 1 << 26
    #: What a snapshot remembers of partitions takes at most so much memory.
    partition_bytes: int = 1 << 26
    #: The temporary numbers of so many documents still lead to them after they have got their numbers on
    #: disk.
    aliases: int = 1 << 16

    # Searching

    #: Up to so many probes are looked up one by one, and what they find is compared at once.
    probes_at_once: int = 256
    #: From so many probes for each partition of a table, NumPy looks them up faster, partition by partition.
    dense_probes: int = 8
    #: So many candidates are compared at a time, which bounds the memory of a batch (8 M take some 200 MB).
    candidates_at_once: int = 1 << 23
    #: In memory, every key is compared with every fingerprint up to so many comparisons; beyond that, tables
    #: are made.
    memory_comparisons: int = 1 << 20
    #: In memory, so many of the newest documents are found by hashing their keys; older ones are sorted.
    unsorted_documents: int = 1 << 10


#: The values for crawls.
DEFAULT = Tuning()
