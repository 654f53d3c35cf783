"""Each error of LMDB and of the disk names what can be done about it, in one sentence."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import lmdb
import pytest

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable, NearDupError
from scrapy_neardup.index.header import UNREADABLE, decoding
from scrapy_neardup.index.lmdb.directory import DAMAGED, reason, translated

WHERE = Path("/somewhere/index")


def raised(error: BaseException) -> NearDupError:
    with pytest.raises(NearDupError) as found, translated(WHERE, "written"):
        raise error
    assert found.value.__cause__ is error
    return found.value


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (MemoryError(), "ulimit -v"),
        (lmdb.MemoryError("no memory"), "ulimit -v"),
        (lmdb.MapFullError("full"), "ulimit -v"),
        (lmdb.DiskError("no space"), "free space"),
        (lmdb.PanicError("a write has failed"), "free space"),
        (lmdb.ReadersFullError("full"), "stop some of the processes"),
        (lmdb.ReadonlyError("read only"), "change its permissions"),
        (lmdb.LockError("a lock"), "share a PID namespace"),
        (lmdb.Error("it is already open in this process"), "use the one that is open"),
        (lmdb.Error("odd"), "index check"),
        (OSError("without a number"), "index check"),
        *(
            (OSError(code, os.strerror(code)), "free space")
            for code in (errno.ENOSPC, errno.EDQUOT, errno.EIO)
        ),
        *(
            (OSError(code, os.strerror(code)), "permissions")
            for code in (errno.EACCES, errno.EPERM, errno.EROFS)
        ),
        *((OSError(code, os.strerror(code)), "ulimit -n") for code in (errno.EMFILE, errno.ENFILE)),
        (OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)), "index check"),
    ],
    ids=repr,
)
def test_what_can_be_done(error: Exception, remedy: str) -> None:
    found = raised(error)
    assert isinstance(found, IndexUnavailable)
    assert str(found).startswith("The index in /somewhere/index cannot be written (")
    assert remedy in str(found)
    assert str(found).endswith(".")


@pytest.mark.parametrize("kind", DAMAGED)
def test_what_says_that_the_file_is_damaged(kind: type[lmdb.Error]) -> None:
    found = raised(kind("broken"))
    assert isinstance(found, IndexCorrupted)
    assert "restore it from a copy" in str(found)


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_value_that_cannot_be_read(kind: type[Exception]) -> None:
    error = kind("odd")
    said = r"^The state cannot be read \(.*odd.*index check"
    with pytest.raises(IndexCorrupted, match=said) as found, decoding("The state"):
        raise error
    assert found.value.__cause__ is error


@pytest.mark.parametrize("block", [translated(WHERE), decoding("The state")])
def test_errors_of_others_stay_what_they_are(block: translated | decoding) -> None:
    with pytest.raises(ZeroDivisionError), block:
        raise ZeroDivisionError
    with block:
        pass


def test_an_error_of_the_package_is_told_by_its_cause() -> None:
    assert reason(IndexUnavailable("gone")) == "(gone)"
    wrapped = IndexUnavailable("a sentence")
    wrapped.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert reason(wrapped).startswith("(No space left on device): free space")
    assert reason(MemoryError()).startswith("(MemoryError): raise the limit")
