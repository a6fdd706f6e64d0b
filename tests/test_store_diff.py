"""Differences between any two sets of refs, whatever holds them: what the digest hashes is what is compared."""

from __future__ import annotations

import itertools
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
import refspan
from hypothesis import given, settings
from hypothesis import strategies as st
from refspan import Change, Symref
from reftable_support import needs_reftables
from store_models import (
    KINDS,
    STORES,
    TABLES,
    Difference,
    Refs,
    Values,
    differences,
    expected,
    make,
    repository,
    write_loose,
)
from store_support import build, encode
from support import HEX_LEN, Hash, Ref, write_packed

pytestmark = needs_reftables

PAIRS = list(itertools.product(KINDS, KINDS))

# Names that sort one way with their slashes and another without.
NAMES = [f"refs/heads/{name}" for name in ("a!", "a-b", "a/b", "a/c-d", "a/c/d", "a0", "größe", "latin1-\udce9", "z")]
NAMES += ["refs/a", "refs/notes/x", "refs/tags/v1", "refs/tags/v1.0", "refs/tags/v10", "refs/zz"]


def oid(number: int, hash_: Hash = "sha1") -> str:
    return f"abc{number + 1:0{HEX_LEN[hash_] - 3}x}"


def place(path: Path) -> Path:
    path.mkdir()
    return path


def both(tmp_path: Path, kinds: tuple[str, str], a: Values, b: Values) -> tuple[Refs, Refs]:
    return make(kinds[0], place(tmp_path / "a"), a), make(kinds[1], place(tmp_path / "b"), b)


def diff(a: Refs, b: Refs) -> list[Difference]:
    return differences(refspan.diff(a, b))


@pytest.mark.parametrize("kinds", PAIRS, ids=" and ".join)
def test_the_same_refs_do_not_differ(tmp_path: Path, kinds: tuple[str, str]) -> None:
    refs = {name: oid(i) for i, name in enumerate(NAMES)}
    assert diff(*both(tmp_path, kinds, refs, refs)) == []


@pytest.mark.parametrize("kinds", PAIRS, ids=" and ".join)
def test_every_two_kinds_of_readers_are_compared(tmp_path: Path, kinds: tuple[str, str]) -> None:
    a = {name: oid(i) for i, name in enumerate(NAMES) if i % 5}
    b = {name: oid(i if i % 3 else 99) for i, name in enumerate(NAMES) if i % 7 != 6}
    told = expected(a, b)
    assert {kind for kind, *_ in told} == {"create", "update", "delete"}
    assert diff(*both(tmp_path, kinds, a, b)) == told


@pytest.mark.parametrize("kinds", PAIRS, ids=" and ".join)
def test_against_no_refs_all_are_created_or_deleted(tmp_path: Path, kinds: tuple[str, str]) -> None:
    refs = {name: oid(i) for i, name in enumerate(NAMES)}
    a, b = both(tmp_path, kinds, {}, refs)
    assert diff(a, b) == [("create", name, None, refs[name]) for name in sorted(refs, key=encode)]
    assert diff(b, a) == [("delete", name, refs[name], None) for name in sorted(refs, key=encode)]


@pytest.mark.parametrize("kinds", [*itertools.product([*STORES, *TABLES], repeat=2)], ids=" and ".join)
def test_symbolic_refs_differ_by_their_targets(tmp_path: Path, kinds: tuple[str, str]) -> None:
    a = {"refs/1": "ref:refs/heads/x", "refs/2": "ref:refs/heads/x", "refs/3": oid(3), "refs/4": "ref:refs/4"}
    a |= {"refs/5": "ref:refs/heads/x", "refs/heads/x": oid(1)}
    b = {"refs/1": "ref:refs/heads/y", "refs/2": oid(1), "refs/3": "ref:refs/heads/x", "refs/4": "ref:refs/4"}
    b |= {"refs/0": "ref:refs/none", "refs/heads/x": oid(2)}
    assert diff(*both(tmp_path, kinds, a, b)) == expected(a, b)


def test_a_change_tells_what_it_is(tmp_path: Path) -> None:
    a, b = both(tmp_path, ("files", "reftable"), {"refs/1": oid(1)}, {"refs/1": "ref:refs/2", "refs/2": oid(2)})
    update, create = refspan.diff(a, b)
    assert (update.name, update.kind, update.before, update.after) == ("refs/1", "update", oid(1), Symref("refs/2"))
    assert (create.name, create.kind, create.before, create.after) == ("refs/2", "create", None, oid(2))
    assert [update, create] == list(refspan.diff(a, b))
    assert update != create
    assert len({update, create, *refspan.diff(a, b)}) == 2
    assert all(isinstance(change, Change) for change in (update, create))


def test_what_is_no_set_of_refs_is_refused(tmp_path: Path) -> None:
    store = refspan.open(repository(tmp_path, "files", {}))
    others: list[object] = [None, str(tmp_path), [], next(store.refs(root_refs=True))]
    for other in others:
        with pytest.raises(TypeError):
            refspan.diff(store, other)  # type: ignore[arg-type]


@pytest.mark.parametrize("kinds", [*itertools.product(STORES, repeat=2)], ids=" and ".join)
def test_root_refs_of_repositories_count(tmp_path: Path, kinds: tuple[str, str]) -> None:
    repos = [
        build(tmp_path / name, "files" if "files" in kind else "reftable")
        for name, kind in zip("ab", kinds, strict=True)
    ]
    a, b = repos
    a.create("refs/heads/main", "ORIG_HEAD", "AUTO_MERGE", "FOO")
    b.create("refs/heads/main", "BISECT_HEAD", "BAR")
    b.create("ORIG_HEAD", at=1)
    b.symref("HEAD", "refs/heads/other")
    (b.gitdir / "FETCH_HEAD").write_text(f"{b.commits[0]}\t\tx\n")
    first, second, _ = a.commits
    readers = [
        repo.store().snapshot() if "snapshot" in kind else repo.store() for repo, kind in zip(repos, kinds, strict=True)
    ]
    assert diff(readers[0], readers[1]) == [
        ("delete", "AUTO_MERGE", first, None),
        ("create", "BISECT_HEAD", None, first),
        ("update", "HEAD", "ref:refs/heads/main", "ref:refs/heads/other"),
        ("update", "ORIG_HEAD", first, second),
    ]


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("single", ["packed", "table"])
def test_root_refs_do_not_count_against_a_single_file(tmp_path: Path, kind: str, single: str) -> None:
    refs = {"refs/heads/main": oid(1)}
    store = make(kind, place(tmp_path / "a"), refs)
    rows = refs if single == "packed" else {**refs, "HEAD": "ref:refs/heads/x", "ORIG_HEAD": oid(2)}
    file = make(single, place(tmp_path / "b"), rows)
    assert diff(store, file) == diff(file, store) == []


@pytest.mark.parametrize("content", ["junk", "", "0" * 40, f"{oid(1)}x", f" {oid(1)}"])
def test_broken_refs_are_not_compared(tmp_path: Path, content: str) -> None:
    a, b = both(
        tmp_path, ("files", "packed"), {"refs/1": oid(1), "refs/3": oid(3)}, {"refs/1": oid(1), "refs/4": oid(4)}
    )
    write_loose(tmp_path / "a", {"refs/2": content, "refs/1..1": oid(1)})
    told = expected({"refs/3": oid(3)}, {"refs/4": oid(4)})
    assert isinstance(a, refspan.RefStore)
    assert diff(a, b) == diff(a.snapshot(), b) == told
    # A packed value behind a broken ref does not count either.
    write_loose(tmp_path / "a", {"refs/1": content, "refs/3": content})
    assert diff(a, b) == expected({}, {"refs/1": oid(1), "refs/4": oid(4)})


def test_refs_of_another_hash_all_differ(tmp_path: Path) -> None:
    a, b = {"refs/1": oid(1)}, {"refs/1": oid(1, "sha256")}
    sha1, sha256 = make("files", place(tmp_path / "a"), a), make("reftable", place(tmp_path / "b"), b, "sha256")
    assert diff(sha1, sha256) == expected(a, b)


def randomly_edited(refs: Values, rng: random.Random, count: int) -> dict[str, str]:
    edited = dict(refs)
    for name in rng.sample(sorted(edited), min(count, len(edited))):
        if rng.random() < 0.5:
            del edited[name]
        else:
            edited[name] = oid(rng.getrandbits(60))
    return edited | {f"refs/new/{rng.getrandbits(40)}": oid(i) for i in range(count // 2)}


@pytest.mark.parametrize("kinds", [*zip(KINDS, KINDS, strict=True), *itertools.pairwise(KINDS)], ids=" and ".join)
def test_two_thousand_refs_differ_where_they_were_edited(tmp_path: Path, kinds: tuple[str, str]) -> None:
    rng = random.Random(str(kinds))
    a = {f"refs/{rng.choice(['heads', 'tags', 'pull'])}/{i}-{rng.getrandbits(20)}": oid(i) for i in range(2000)}
    b = randomly_edited(a, rng, rng.choice([1, 30, 1000]))
    assert diff(*both(tmp_path, kinds, a, b)) == expected(a, b)


some_values = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2).map(oid))


@settings(max_examples=60)
@given(a=some_values, b=some_values, kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)))
def test_any_few_refs_are_compared_name_by_name(a: dict[str, str], b: dict[str, str], kinds: tuple[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert diff(*both(Path(folder), kinds, a, b)) == expected(a, b)


some_header = st.sampled_from([None, "", "sorted", "peeled fully-peeled sorted", "sorted and what nobody knows"])
some_spelling = st.tuples(st.sampled_from([None, b"9" * 40]), st.sampled_from([bytes.lower, bytes.upper]))
some_file = st.tuples(some_values, some_header, st.lists(some_spelling, min_size=1, max_size=5))


@given(a=some_file, b=some_file)
def test_packed_files_differ_by_their_values_alone(
    scratch: Path, a: tuple[dict[str, str], str | None, list[Any]], b: tuple[dict[str, str], str | None, list[Any]]
) -> None:
    readers: list[refspan.PackedRefs] = []
    for values, traits, spellings in (a, b):
        refs = sorted(values.items(), key=lambda ref: encode(ref[0]))
        lines = [
            Ref(encode(name), spell(value.encode()), peeled)
            for (name, value), (peeled, spell) in zip(refs, itertools.cycle(spellings), strict=False)
        ]
        path = scratch.with_name(f"packed-{len(readers)}")
        readers.append(refspan.PackedRefs(write_packed(path, lines, traits), hash="sha1"))
    assert diff(*readers) == expected(a[0], b[0])
