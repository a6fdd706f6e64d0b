"""Stacks that change while they are opened or reloaded, and answers that hostile content must not bend."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from refspan import PackedRefs, Reftable, ReftableStack
from reftable_support import Row, listed, write_table
from reftable_writer import LogRow, write
from support import Ref, run_python, write_packed

OLD, NEW = b"1" * 40, b"2" * 40
NAME = b"refs/heads/a"


def raw(oid: bytes) -> bytes:
    return bytes.fromhex(oid.decode())


def later(action: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(0.2, action)
    timer.start()
    return timer


@pytest.mark.parametrize("lock_only", [True, False])
def test_a_stack_that_is_just_being_made_is_waited_for(tmp_path: Path, lock_only: bool) -> None:
    stack = listed(tmp_path / "reftable", [write_table(tmp_path / "1.ref", [Row(NAME, OLD)])])
    (stack / "tables.list").rename(stack / "tables.list.lock")
    if not lock_only:
        (stack / "tables.list.lock").rename(tmp_path / "list")
    source = stack / "tables.list.lock" if lock_only else tmp_path / "list"
    timer = later(lambda: source.rename(stack / "tables.list"))
    assert [ref.refname for ref in ReftableStack(stack)] == [NAME.decode()]
    timer.join()


def test_reloading_reads_a_table_anew_that_came_back_under_its_name(tmp_path: Path) -> None:
    stack = listed(tmp_path / "reftable", [write_table(tmp_path / "1.ref", [Row(NAME, OLD)])])
    reader = ReftableStack(stack)
    write_table(tmp_path / "other.ref", [Row(NAME, NEW)]).replace(stack / "1.ref")
    (stack / "tables.list").unlink()
    (stack / "tables.list").write_bytes(b"1.ref\n")
    assert reader.reload()
    assert reader[NAME].hex == NEW.decode()


def test_reloads_in_threads_never_go_back(tmp_path: Path) -> None:
    names = [f"{i}.ref" for i in range(40)]
    tables = [write_table(tmp_path / name, [Row(NAME, b"%040x" % (i + 1))]) for i, name in enumerate(names)]
    stack = listed(tmp_path / "reftable", tables)
    (stack / "tables.list").write_bytes(b"0.ref\n")
    reader, seen, done = ReftableStack(stack), dict[int, list[int]](), threading.Event()

    def reload(number: int) -> None:
        while not done.is_set():
            reader.reload()
            seen.setdefault(number, []).append(int(reader[NAME].hex, 16))

    threads = [threading.Thread(target=reload, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for name in names[1:]:
        (stack / "next").write_bytes(name.encode() + b"\n")
        (stack / "next").replace(stack / "tables.list")
    done.set()
    for thread in threads:
        thread.join()
    assert all(values == sorted(values) for values in seen.values())
    reader.reload()
    assert int(reader[NAME].hex, 16) == len(names)


def test_a_list_in_the_reverse_order_of_its_update_indices_is_read_as_listed(tmp_path: Path) -> None:
    newer = write_table(tmp_path / "newer.ref", [Row(NAME, NEW)], limits=(2, 2))
    stack = listed(tmp_path / "reftable", [newer, write_table(tmp_path / "older.ref", [Row(NAME, OLD)])])
    assert ReftableStack(stack)[NAME].hex == OLD.decode()


def test_many_hits_under_many_newer_tables_are_all_looked_up(tmp_path: Path) -> None:
    rows = [Row(b"refs/heads/%05d" % i, OLD) for i in range(3000)]
    moved = [Row(row.name, NEW) for row in rows[::7]]
    gone = [Row(row.name) for row in rows[3::11]]
    tables = [write_table(tmp_path / f"{i}.ref", some) for i, some in enumerate([rows, moved, gone])]
    reader = ReftableStack(listed(tmp_path / "reftable", tables))
    left = {row.name for row in rows} - {row.name for row in moved} - {row.name for row in gone}
    assert {bytes(ref.name) for ref in reader.points_at(OLD)} == left


def test_a_date_out_of_reach_is_an_overflow(tmp_path: Path) -> None:
    path = tmp_path / "1.ref"
    for time in (2**40, 2**56, 2**62, 2**64 - 1):
        path.write_bytes(write([], [LogRow(NAME, 1, raw(OLD), raw(NEW), time=time, message=b"m\n")]).data)
        (entry,) = Reftable(path).logs()
        assert entry.time == time
        with pytest.raises((ValueError, OverflowError)):
            _ = entry.when


def test_dump_writes_one_line_for_an_entry_whatever_its_message(tmp_path: Path) -> None:
    path = tmp_path / "1.ref"
    path.write_bytes(write([], [LogRow(NAME, 1, raw(OLD), raw(NEW), message=b"a\nrefs/forged\tb\n")]).data)
    code = "import sys; from refspan.cli import main; sys.exit(main(['dump', '--logs', sys.argv[1]]))"
    assert run_python(code, path).count("\n") == 1


def test_dump_of_a_pipe_fails_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code = "import sys; from refspan.cli import main; print(main(['dump', sys.argv[1]]), file=sys.__stdout__)"
    code = f"import os, sys; sys.stderr = open(os.devnull, 'w'); {code}"
    assert run_python(code, tmp_path / "pipe").strip() == "1"


def test_a_zero_peeled_id_is_none(tmp_path: Path) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/tags/v1", OLD, b"0" * 40)])
    ref = PackedRefs(path)["refs/tags/v1"]
    assert (ref.peeled, ref.peel_known) == (None, True)
