"""Which files are mapped, and what becomes of a reader whose file is changed in place."""

import os
from pathlib import Path

import pytest
from refspan import CorruptError, PackedRefs
from support import run_python

SORTED = b"# pack-refs with: peeled fully-peeled sorted \n"
# Over and under 32 KiB, from where on a file is mapped.
LARGE, SMALL = 2000, 10


def write(path: Path, count: int) -> Path:
    path.write_bytes(SORTED + b"".join(b"%040x refs/heads/%08d\n" % (i, i) for i in range(1, count + 1)))
    return path


@pytest.mark.parametrize(
    ("count", "mmap", "held"), [(LARGE, True, "mapped"), (LARGE, False, "in memory"), (SMALL, True, "in memory")]
)
def test_large_files_are_mapped_unless_a_copy_is_asked_for(tmp_path: Path, count: int, mmap: bool, held: str) -> None:
    path = write(tmp_path / "packed-refs", count)
    assert repr(PackedRefs(path, mmap=mmap)).endswith(f" {held}>")
    # What the words say is so: a map shows a change in place, a copy does not.
    packed = PackedRefs(path, mmap=mmap)
    with path.open("r+b") as file:
        file.seek(len(SORTED))
        file.write(b"f")
    assert bytes(next(iter(packed)).oid).startswith(b"f") == (held == "mapped")


def test_a_copy_outlives_truncation_in_place(tmp_path: Path) -> None:
    path = write(tmp_path / "packed-refs", LARGE)
    code = """
import os, sys
from refspan import PackedRefs
packed = PackedRefs(sys.argv[1], mmap=False)
os.truncate(sys.argv[1], 0)
print(len(list(packed)))
"""
    assert run_python(code, path).strip() == str(LARGE)


def test_a_map_cut_within_its_last_page_is_damaged_there(tmp_path: Path) -> None:
    path = write(tmp_path / "packed-refs", LARGE)
    packed = PackedRefs(path)
    os.truncate(path, path.stat().st_size - 30)
    with pytest.raises(CorruptError) as caught:
        list(packed)
    assert caught.value.line == LARGE + 1


def test_a_relative_path_means_the_same_after_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "packed-refs", SMALL)
    monkeypatch.chdir(tmp_path)
    packed = PackedRefs("packed-refs")
    monkeypatch.chdir("/")
    assert packed.path == "packed-refs"
    assert not packed.is_stale()
