"""What a path may lead to when a packed-refs file is opened, and whether it still leads there."""

import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from refspan import CorruptError, PackedRefs

SORTED = b"# pack-refs with: peeled fully-peeled sorted \n"
SHA1 = b"1234567890abcdef1234567890abcdef12345678"
SHA256 = b"1234567890abcdef" * 4


@pytest.fixture(name="path")
def packed_refs_path(tmp_path: Path) -> Path:
    path = tmp_path / "packed-refs"
    path.write_bytes(SORTED + SHA1 + b" refs/heads/m\n")
    return path


def os_error(path: str | Path) -> tuple[type[BaseException], int | None, str]:
    with pytest.raises(OSError, match=r"\[Errno") as caught:
        PackedRefs(path)
    assert caught.value.strerror
    return caught.type, caught.value.errno, caught.value.filename


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "absent"
    assert os_error(path) == (FileNotFoundError, errno.ENOENT, str(path))


def test_a_directory_is_one(tmp_path: Path) -> None:
    assert os_error(tmp_path) == (IsADirectoryError, errno.EISDIR, str(tmp_path))


def test_a_file_is_no_directory(path: Path) -> None:
    assert os_error(path / "x") == (NotADirectoryError, errno.ENOTDIR, str(path / "x"))


def test_the_error_of_the_system_is_passed_on(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 256)
    assert os_error(long) == (OSError, errno.ENAMETOOLONG, str(long))
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert os_error(loop) == (OSError, errno.ELOOP, str(loop))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(path: Path) -> None:
    path.chmod(0)
    assert os_error(path) == (PermissionError, errno.EACCES, str(path))


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    outcome: list[tuple[type[BaseException], int | None, str]] = []
    thread = threading.Thread(target=lambda: outcome.append(os_error(fifo)), daemon=True)
    thread.start()
    thread.join(30)
    assert outcome == [(OSError, errno.EINVAL, str(fifo))]


def test_a_device_without_end_is_refused() -> None:
    assert os_error("/dev/zero") == (OSError, errno.EINVAL, "/dev/zero")


@pytest.mark.parametrize("path", ["packed\0refs", "\0"])
def test_a_path_with_a_nul_is_no_path(path: str) -> None:
    with pytest.raises(ValueError, match="null byte"):
        PackedRefs(path)


@pytest.mark.parametrize("path", [b"packed-refs", 0, None])
def test_a_path_is_str_or_path_like(path: object) -> None:
    with pytest.raises(TypeError):
        PackedRefs(path)  # type: ignore[arg-type]


def test_symbolic_links_are_followed(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    packed = PackedRefs(link)
    assert (packed.path, len(packed)) == (str(link), 1)


def test_a_path_of_any_bytes_is_kept_as_given(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n")
    Path(path).write_bytes(b"x\n")
    with pytest.raises(CorruptError) as caught:
        PackedRefs(path)
    assert caught.value.path == path


@pytest.mark.parametrize("hash", ["md5", "SHA1", "", "sha-256"])
def test_an_unknown_hash_is_refused(path: Path, hash: str) -> None:
    with pytest.raises(ValueError, match="'sha1' or 'sha256'"):
        PackedRefs(path, hash=hash)  # type: ignore[arg-type]


def test_the_hash_is_known_before_the_file_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hash"):
        PackedRefs(tmp_path / "absent", hash="md5")  # type: ignore[arg-type]


def test_a_hash_that_is_not_the_files_is_damage(path: Path) -> None:
    with pytest.raises(CorruptError) as caught:
        PackedRefs(path, hash="sha256")
    reason = "line does not start with the 64 hex digits of an object id (sha256)"
    assert (caught.value.line, caught.value.offset, caught.value.reason) == (2, 46, reason)
    path.write_bytes(SORTED + SHA256 + b" refs/heads/m\n")
    with pytest.raises(CorruptError) as caught:
        PackedRefs(path, hash="sha1")
    assert (caught.value.line, caught.value.reason) == (2, "object id is not followed by a space")


def test_the_width_of_the_first_object_id_tells_the_hash(path: Path) -> None:
    assert PackedRefs(path).hash == "sha1"
    path.write_bytes(SORTED + SHA256 + b" refs/heads/m\n^" + SHA256 + b"\n")
    packed = PackedRefs(path)
    assert packed.hash == "sha256"
    assert packed["refs/heads/m"].peeled_hex == SHA256.decode()


def test_a_file_without_refs_has_the_hash_that_is_given(path: Path) -> None:
    path.write_bytes(SORTED)
    assert PackedRefs(path).hash is None
    assert PackedRefs(path, hash="sha256").hash == "sha256"


def replace(path: Path) -> None:
    """As git does it; the times and the size are made those of the old file, so that only the inode tells."""
    new = path.with_name("packed-refs.new")
    shutil.copy2(path, new)
    new.rename(path)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(SHA1 + b" refs/heads/z\n")


def rewrite_within_the_second(path: Path) -> None:
    """Same size, same inode, same second: git cannot tell."""
    before = path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes().replace(b"refs/heads/m", b"refs/heads/x"))
    second, nanosecond = divmod(before, 10**9)
    changed = second * 10**9 + (nanosecond + 10**6) % 10**9
    os.utime(path, ns=(changed, changed))


def rewrite_with_the_old_mtime(path: Path) -> None:
    """Nobody can set the ctime back."""
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"refs/heads/m", b"refs/heads/x"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def remove_directory(path: Path) -> None:
    shutil.rmtree(path.parent)


def put_a_file_in_the_way(path: Path) -> None:
    remove_directory(path)
    path.parent.write_bytes(b"")


CHANGES = [
    replace,
    append,
    rewrite_within_the_second,
    rewrite_with_the_old_mtime,
    Path.unlink,
    remove_directory,
    put_a_file_in_the_way,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_changed_file_makes_its_reader_stale(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "repo" / "packed-refs"
    path.parent.mkdir()
    path.write_bytes(SORTED + SHA1 + b" refs/heads/m\n")
    packed = PackedRefs(path)
    assert not packed.is_stale()
    change(path)
    assert packed.is_stale()
    assert [ref.refname for ref in packed] == ["refs/heads/m"], "a snapshot stays what it was"


def test_an_untouched_file_leaves_its_reader_fresh(path: Path) -> None:
    packed = PackedRefs(path)
    path.read_bytes()
    len(packed)
    assert not packed.is_stale()
    assert not PackedRefs(path).is_stale()


def test_a_link_that_leads_elsewhere_makes_its_reader_stale(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    packed = PackedRefs(link)
    assert not packed.is_stale()
    other = path.with_name("other")
    shutil.copy2(path, other)
    link.unlink()
    link.symlink_to(other)
    assert packed.is_stale()


def test_staleness_that_cannot_be_told_is_an_error(path: Path) -> None:
    packed = PackedRefs(path)
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(OSError, match=r"\[Errno") as caught:
        packed.is_stale()
    assert (caught.value.errno, caught.value.filename) == (errno.ELOOP, str(path))
