"""Views into the file: what they are, how long they last, and what they cost."""

from __future__ import annotations

import ctypes
import gc
import io
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from refspan import CorruptError, PackedRefs, RefView
from support import Builder, Ref, listing, write_packed

COMMIT, TAG, TARGET = b"c0ffee" * 6 + b"1234", b"7a9" * 13 + b"7", b"1234567890" * 4
MAIN = Ref(b"refs/heads/main", COMMIT, None)
V1 = Ref(b"refs/tags/v1", TAG, TARGET)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a branch and a tag, and enough other refs to be mapped."""
    others = (Ref(b"refs/x/%04d" % i, b"%040x" % (i + 1), None) for i in range(2000))
    return write_packed(tmp_path / "packed-refs", [MAIN, V1, *others])


@pytest.fixture(params=[True, False], ids=["mapped", "copied"])
def packed(path: Path, request: pytest.FixtureRequest) -> PackedRefs:
    return PackedRefs(path, mmap=request.param)


@pytest.fixture
def tag(packed: PackedRefs) -> RefView:
    return packed[V1.name]


def views_of(ref: RefView) -> dict[str, memoryview]:
    name, oid, peeled = ref
    return {"name": name, "oid": oid, "peeled": peeled, "record": memoryview(ref)}


CONTENT = {"name": V1.name, "oid": TAG, "peeled": TARGET, "record": b"%s %s\n^%s\n" % (TAG, V1.name, TARGET)}


@pytest.mark.parametrize("field", CONTENT)
def test_a_view_is_read_only_bytes(tag: RefView, field: str) -> None:
    view = views_of(tag)[field]
    assert view.readonly
    assert (view.format, view.itemsize, view.ndim, view.shape) == ("B", 1, 1, (len(CONTENT[field]),))
    assert view.contiguous
    with pytest.raises(TypeError):
        view[0] = 0


@pytest.mark.parametrize("field", CONTENT)
def test_a_view_compares_and_hashes_like_the_equal_bytes(tag: RefView, field: str) -> None:
    view, content = views_of(tag)[field], CONTENT[field]
    assert view == content
    assert content == view
    assert view != content + b"x"
    assert hash(view) == hash(content)
    assert {content: 1}[cast(bytes, view)] == {view: 1}[cast(memoryview, content)] == 1


def test_a_field_asked_for_twice_gives_equal_views(tag: RefView) -> None:
    assert tag.name == tag.name
    assert tag.oid == tag.oid


def test_a_ref_has_its_values_as_text(tag: RefView) -> None:
    assert (tag.refname, tag.hex, tag.peeled_hex) == (V1.name.decode(), TAG.decode(), TARGET.decode())


def test_a_ref_without_peeled_value_has_none(packed: PackedRefs) -> None:
    ref = packed[MAIN.name]
    name, oid, peeled = ref
    assert name == MAIN.name
    assert oid == MAIN.oid
    assert peeled is None
    assert ref.peeled is None
    assert ref.peeled_hex is None
    assert memoryview(ref) == b"%s %s\n" % (COMMIT, MAIN.name)


def test_packed_refs_hold_object_ids_only(tag: RefView) -> None:
    assert (tag.kind, tag.target, tag.update_index, tag.broken) == ("oid", None, None, None)


def test_refs_can_be_matched(packed: PackedRefs) -> None:
    def kind(ref: RefView) -> str:
        match ref:
            case RefView(_, oid, None):
                return f"commit {bytes(oid).decode()}"
            case RefView(name=name, peeled=memoryview() as peeled):
                return f"{bytes(name).decode()} peels to {bytes(peeled).decode()}"
        return "no match"

    assert kind(packed[MAIN.name]) == f"commit {COMMIT.decode()}"
    assert kind(packed[V1.name]) == f"refs/tags/v1 peels to {TARGET.decode()}"


def test_refs_are_equal_only_to_themselves(packed: PackedRefs) -> None:
    ref = packed[V1.name]
    assert [ref] == [ref]
    assert ref != packed[V1.name]


WRITERS: dict[str, Callable[[Any], object]] = {
    "readinto": lambda target: io.BytesIO(b"x").readinto(target),
    "ctypes": lambda target: ctypes.c_char.from_buffer(target),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_writable_buffer_is_refused(tag: RefView, write: Callable[[Any], object]) -> None:
    for target in (tag, tag.name):
        with pytest.raises((TypeError, BufferError)):
            write(target)
    assert tag.name == V1.name


def test_only_refs_and_their_fields_have_a_buffer(packed: PackedRefs) -> None:
    with pytest.raises(TypeError):
        memoryview(cast(bytes, packed))
    # What owns the buffers of all views has none that could be meant.
    with pytest.raises(BufferError):
        memoryview(packed[V1.name].name.obj)


@pytest.mark.parametrize("replace", [Path.replace, lambda _, old: old.unlink()], ids=["replaced", "removed"])
@pytest.mark.parametrize("mmap", [True, False])
def test_views_outlive_ref_iterator_reader_and_file(
    path: Path, tmp_path: Path, mmap: bool, replace: Callable[[Path, Path], object]
) -> None:
    other = write_packed(tmp_path / "other", [Ref(b"refs/none", b"0" * 40, None)] * 2000)
    reader = PackedRefs(path, mmap=mmap)
    refs = iter(reader)
    kept = [views_of(ref) for ref in itertools.islice(refs, 2)][1]
    rest = [ref.name for ref in refs]
    del reader, refs
    replace(other, path)
    gc.collect()
    assert kept == CONTENT
    assert [bytes(name) for name in rest] == [b"refs/x/%04d" % i for i in range(2000)]


def test_a_running_iterator_does_not_see_a_replaced_file(path: Path, tmp_path: Path) -> None:
    refs = iter(PackedRefs(path))
    next(refs)
    write_packed(tmp_path / "other", [MAIN]).replace(path)
    assert [ref.name for ref in refs][-1:] == [b"refs/x/1999"]


def test_a_reader_can_be_referenced_weakly(path: Path) -> None:
    reader = PackedRefs(path)
    name, alive = reader[V1.name].name, weakref.ref(reader)
    assert alive() is reader
    del reader
    gc.collect()
    assert alive() is None
    assert name == V1.name


KEEPERS: dict[str, Callable[[Iterator[RefView]], list[RefView]]] = {
    "list": list,
    "every third": lambda refs: [ref for i, ref in enumerate(refs) if i % 3 == 0],
    "pairs": lambda refs: [ref for pair in itertools.pairwise(refs) for ref in pair],
    "zip": lambda refs: [ref for pair in zip(refs, refs, strict=True) for ref in pair],
    "first of pairs": lambda refs: [first for first, _ in zip(refs, refs, strict=True)],
    "tee": lambda refs: [ref for branch in itertools.tee(refs) for ref in branch],
}
KEPT = {
    "list": range(1000),
    "every third": range(0, 1000, 3),
    "pairs": [j for i in range(999) for j in (i, i + 1)],
    "zip": range(1000),
    "first of pairs": range(0, 1000, 2),
    "tee": [*range(1000), *range(1000)],
}


@pytest.mark.parametrize("how", KEEPERS)
def test_a_ref_that_is_kept_does_not_change(repository: Builder, how: str) -> None:
    reader = PackedRefs(repository(1000) / "packed-refs")
    records = list(reader.records())
    kept = KEEPERS[how](iter(reader))
    assert [memoryview(ref) for ref in kept] == [records[i] for i in KEPT[how]]


def in_threads(work: Callable[[], None]) -> None:
    """Run it in four threads that take turns as often as can be."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)


@pytest.mark.slow
def test_threads_that_share_an_iterator_get_each_ref_once(repository: Builder, many: int) -> None:
    reader = PackedRefs(repository(many) / "packed-refs")
    refs, shares = iter(reader), list[list[Ref]]()
    in_threads(lambda: shares.append(listing(refs)))
    assert sorted(itertools.chain(*shares)) == listing(reader)
    assert all(share == sorted(share) for share in shares)


def test_threads_that_share_an_iterator_all_hear_of_damage(tmp_path: Path) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/x/%04d" % i, COMMIT, None) for i in range(100)])
    path.write_bytes(path.read_bytes() + b"damage\n" + COMMIT + b" refs/z\n")
    refs, lines = iter(PackedRefs(path)), list[int | None]()

    def read_on() -> None:
        for _ in range(1000):
            try:
                next(refs)
            except CorruptError as error:
                lines.append(error.line)

    in_threads(read_on)
    assert lines == [102] * 3900


def test_a_view_made_during_a_collection_and_the_one_that_caused_it_are_right(packed: PackedRefs) -> None:
    other, meanwhile, busy = packed[MAIN.name], list[memoryview](), list[bool]()

    def collect(phase: str, info: dict[str, int]) -> None:
        if not busy:
            busy.append(True)
            meanwhile.extend([other.name, other.oid, memoryview(other), *itertools.islice(packed.names(), 1)])
            busy.clear()

    thresholds = gc.get_threshold()
    gc.callbacks.append(collect)
    gc.set_threshold(1)
    try:
        made = [views_of(packed[V1.name]) for _ in range(200)]
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collect)
    assert made == [CONTENT] * 200
    assert meanwhile
    assert meanwhile == [MAIN.name, COMMIT, b"%s %s\n" % (COMMIT, MAIN.name), MAIN.name] * (len(meanwhile) // 4)


def test_length_is_kept(path: Path) -> None:
    reader = PackedRefs(path)
    assert len(reader) == 2002
    # Git never writes into the file; it is a way to tell whether it is read once more.
    with path.open("r+b") as file:
        file.seek(60_000)
        file.write(b"\n\n\n")
    assert len(reader) == 2002


def test_truth_does_not_read_the_file(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[60_000:60_003] = b"\n\n\n"
    path.write_bytes(content)
    reader = PackedRefs(path)
    assert reader
    with pytest.raises(CorruptError):
        len(reader)


def test_repr_tells_what_it_is(packed: PackedRefs, path: Path) -> None:
    assert repr(str(path)) in repr(packed)
    assert all(word in repr(packed) for word in ("PackedRefs", "sha1", "fully-peeled", "sorted"))
    assert all(word in repr(packed[V1.name]) for word in ("'refs/tags/v1'", TAG.decode(), TARGET.decode()))


def test_repr_tells_what_is_broken(tmp_path: Path) -> None:
    (ref,) = PackedRefs(write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/a..\xff", COMMIT, None)]))
    assert "bad name" in repr(ref)
    assert r"'refs/heads/a..\udcff'" in repr(ref)
