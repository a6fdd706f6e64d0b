"""Reading whole stacks: what refspan lists is what git lists, name by name, id by id and target by target."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from refspan import Reftable, ReftableStack
from reftable_support import (
    NEVER,
    SHAPES,
    Row,
    StackBuilder,
    fixtures,
    git_rows,
    git_target,
    listed,
    needs_reftables,
    revived,
    rows,
    twin_in_files,
    write_table,
)
from reftable_writer import Shape
from support import HASHES, Hash, git, remote_listing

BLOCK_SIZES = [256, 4096, 65536]
INTERVALS = [1, 16]
OID = b"1" * 40
# A table of one block.
HUGE = Shape(block_size=(1 << 24) - 1, index_from=NEVER)

pytestmark = needs_reftables


@pytest.mark.parametrize("mmap", [True, False], ids=["mapped", "copied"])
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_a_stack_that_git_wrote_is_listed_as_git_lists_it(
    stacked: StackBuilder, count: int, hash_: Hash, mmap: bool
) -> None:
    repo = stacked(count, hash_)
    stack = ReftableStack(repo / "reftable", mmap=mmap)
    assert rows(stack) == git_rows(repo)
    # One more for HEAD.
    assert len(stack) == count + 1
    assert stack.hash == hash_


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_every_layout_is_listed_as_git_lists_it(
    stacked: StackBuilder, block_size: int, interval: int, hash_: Hash
) -> None:
    repo = stacked(1000, hash_, block_size=block_size, interval=interval)
    stack = ReftableStack(repo / "reftable")
    (table,) = stack.tables
    assert (table.block_size, table.hash, table.version) == (block_size, hash_, 1 if hash_ == "sha1" else 2)
    assert rows(stack) == rows(table) == git_rows(repo)


@pytest.mark.slow
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_a_large_stack_is_listed_as_git_lists_it(
    stacked: StackBuilder, many: int, block_size: int, hash_: Hash
) -> None:
    # Small blocks take git itself too long.
    repo = stacked(many // 10 if block_size == 256 else many, hash_, block_size=block_size)
    stack = ReftableStack(repo / "reftable")
    assert rows(stack) == git_rows(repo)


@pytest.mark.parametrize("hash_", HASHES)
def test_symbolic_refs_have_their_immediate_target(stacked: StackBuilder, tmp_path: Path, hash_: Hash) -> None:
    repo = tmp_path / "repo.git"
    git("clone", "-q", "--mirror", "--ref-format=reftable", stacked(20, hash_), repo)
    git("symbolic-ref", "refs/heads/a", "refs/heads/main", cwd=repo)
    git("symbolic-ref", "refs/heads/z", "refs/heads/a", cwd=repo)
    stack = ReftableStack(repo / "reftable")
    assert rows(stack) == git_rows(repo)
    assert stack["refs/heads/z"].kind == "symref"
    assert rows([stack["refs/heads/z"]]) == [Row(b"refs/heads/z", target=b"refs/heads/a")]


def test_a_dangling_symbolic_ref_is_a_ref(stacked: StackBuilder) -> None:
    repo = stacked(0)
    assert rows(ReftableStack(repo / "reftable")) == [Row(b"HEAD", target=b"refs/heads/main")]


def test_a_detached_head_has_an_object_id(stacked: StackBuilder, tmp_path: Path) -> None:
    repo = tmp_path / "repo.git"
    git("clone", "-q", "--mirror", "--ref-format=reftable", stacked(20), repo)
    git("update-ref", "--no-deref", "HEAD", "refs/heads/main", cwd=repo)
    stack = ReftableStack(repo / "reftable")
    assert rows(stack) == git_rows(repo)
    assert stack["HEAD"].hex == stack["refs/heads/main"].hex


def test_a_peeled_value_makes_peeling_known(stacked: StackBuilder) -> None:
    for ref in ReftableStack(stacked(1000) / "reftable"):
        assert ref.peel_known == (ref.peeled is not None)


def test_each_ref_tells_the_transaction_that_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_REFTABLE_AUTOCOMPACTION", "false")
    git("init", "-q", "--bare", "--ref-format=reftable", tmp_path)
    commit = git("commit-tree", "-m", "x", git("mktree", cwd=tmp_path).strip().decode(), cwd=tmp_path).strip()
    for i in range(5):
        git("update-ref", f"refs/heads/{i}", commit.decode(), cwd=tmp_path)
    expected = [("HEAD", 1), *((f"refs/heads/{i}", i + 2) for i in range(5))]
    stack = ReftableStack(tmp_path / "reftable")
    assert [(ref.refname, ref.update_index) for ref in stack] == expected
    git("pack-refs", cwd=tmp_path)
    assert stack.reload()
    assert [(ref.refname, ref.update_index) for ref in stack] == expected
    assert (stack.min_update_index, stack.max_update_index) == (1, 6)


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("shape", [*SHAPES.values(), HUGE], ids=[*SHAPES, "huge"])
def test_layouts_that_git_never_writes_are_read(tmp_path: Path, shape: Shape, hash_: Hash) -> None:
    width = 40 if hash_ == "sha1" else 64
    refs = [Row(b"refs/heads/%04d" % i, b"%0*x" % (width, i << 80 | 1)) for i in range(500)]
    refs += [Row(b"refs/tags/%04d" % i, b"%0*x" % (width, i << 80 | 2), b"%0*x" % (width, i + 1)) for i in range(500)]
    refs += [Row(b"refs/y/%04d" % i, target=b"refs/heads/%04d" % i) for i in range(500)]
    refs += [Row(b"refs/z/%04d" % i) for i in range(500)]
    table = Reftable(write_table(tmp_path / "x.ref", refs, hash_=hash_, shape=shape))
    table.check()
    assert rows(table) == refs


def test_names_of_any_bytes_are_read(tmp_path: Path) -> None:
    names = sorted([b"\x01", b"a", b"a\xff", b"refs/heads/gr\xc3\xb6\xc3\x9fe", b"refs/heads/latin1-\xe9", b"x" * 3000])
    table = Reftable(write_table(tmp_path / "x.ref", [Row(name, OID) for name in names]))
    assert list(table.names()) == names
    assert table["refs/heads/latin1-\udce9"].refname == "refs/heads/latin1-\udce9"


@pytest.mark.parametrize("hash_", HASHES)
def test_a_table_of_nothing_is_empty(tmp_path: Path, hash_: Hash) -> None:
    table = Reftable(write_table(tmp_path / "x.ref", hash_=hash_, limits=(3, 7)))
    assert not table
    assert len(table) == 0
    assert not [*table, *table.names(), *table.logs(), *table.points_at(OID), *table.blocks()]
    assert "HEAD" not in table
    assert (table.hash, table.min_update_index, table.max_update_index) == (hash_, 3, 7)


def test_a_ref_that_is_broken_is_listed_with_why(tmp_path: Path) -> None:
    refs = [
        Row(b"refs/../x", OID),
        Row(b"refs/heads/a..b", OID),
        Row(b"refs/heads/c", b"0" * 40),
        Row(b"refs/heads/d", target=b"refs/heads/../../e"),
        Row(b"refs/heads/e", target=b"refs/heads/c"),
    ]
    stack = ReftableStack(listed(tmp_path / "s", [write_table(tmp_path / "x.ref", refs)]))
    assert rows(stack) == refs
    assert [ref.broken for ref in stack] == ["unsafe name", "bad name", "zero oid", "bad target", None]


@pytest.mark.parametrize("tables_list", fixtures("**/tables.list"))
def test_stacks_of_other_programs_are_read_as_git_reads_them(tables_list: Path, tmp_path: Path) -> None:
    gitdir = revived(tables_list.parent.parent, tmp_path / "repo.git")
    reader = ReftableStack(tables_list.parent)
    reader.check()
    read = {row.name: row for row in rows(reader)}
    told = {row.name: row for row in git_rows(gitdir, remote_listing)}
    # A worktree has the refs of its repository as well.
    assert told.keys() <= read.keys() or (gitdir / "commondir").exists()
    for name, row in read.items():
        assert row == (told.get(name) or git_row(gitdir, row))


def git_row(gitdir: Path, row: Row) -> Row:
    """What git says of a ref that it does not list, as it leads nowhere or is neither below refs/ nor well known."""
    if row.target is not None:
        return Row(row.name, target=git_target(gitdir, row.name))
    return Row(row.name, git("--git-dir=.", "rev-parse", "-q", "--verify", os.fsdecode(row.name), cwd=gitdir).strip())


@pytest.mark.parametrize("answer", fixtures("generated-git-*/*.for-each-ref.txt"))
def test_git_said_the_same_when_it_made_the_fixtures(answer: Path) -> None:
    stack = ReftableStack(answer.with_name(answer.name.removesuffix(".for-each-ref.txt")) / "reftable")
    lines = [f"{ref.hex} {ref.refname}" for ref in stack.refs("refs/")]
    assert lines == [line.rstrip() for line in answer.read_text().splitlines()]


@pytest.mark.parametrize("tables_list", fixtures("libgit2/tests/resources/reftable/**/tables.list"))
def test_a_repository_in_both_formats_has_the_same_refs(tables_list: Path, tmp_path: Path) -> None:
    twin = twin_in_files(tables_list.parent)
    if twin is None:
        pytest.skip("the other format holds something else")
    stack = ReftableStack(tables_list.parent)
    # Without objects, git does not peel what lies in files.
    read = {row.name: row._replace(peeled=None) for row in rows(stack)}
    for row in git_rows(revived(twin, tmp_path / "repo.git"), lambda _: []):
        # A worktree has the refs of its repository as well.
        if row.name in read or not (twin / "commondir").exists():
            assert read.get(row.name) == row
