"""Single transactions beside git's, where generated ones seldom come to or have found something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from differential_checks import attempt, transact, transact_singly
from differential_support import Edit, Twins, build_twins
from refspan import ANY, Transaction
from refspan.errors import ConflictError, InvalidValueError, RefNotFoundError

A, B, C = "refs/heads/a", "refs/heads/a/b", "refs/heads/a/b/c"


@pytest.fixture(name="twins")
def twin_repositories(tmp_path: Path) -> Iterator[Twins]:
    twins = build_twins(tmp_path, "sha1")
    yield twins
    twins.session.stop()


def create(twins: Twins, name: str) -> Edit:
    return ("create", name, twins.objects["first"], None)


def packed(twins: Twins, *names: str) -> None:
    """Create refs in both, and pack them."""
    assert transact(twins, [create(twins, name) for name in names]) is None
    twins.pack("--all")


def test_a_packed_ref_that_keeps_its_value_does_not_mind_a_lock_below_its_place(twins: Twins) -> None:
    """Nothing would be written: so git makes such an edit."""
    packed(twins, A)
    twins.folder(B, junk=True)
    first = twins.objects["first"]
    assert transact(twins, [("update", A, first, first)]) is None


def test_a_lock_below_the_place_of_a_packed_ref_is_noticed_before_anything_is_changed(twins: Twins) -> None:
    """Git has changed the first of these when it notices, and does not say which of them it has."""
    packed(twins, "refs/heads/0", A, "refs/heads/z")
    twins.folder(B, junk=True)
    second = twins.objects["second"]
    edits: list[Edit] = [("update", name, second, ANY) for name in ("refs/heads/0", A, "refs/heads/z")]
    assert transact(twins, edits) is ConflictError


def test_a_packed_ref_is_deleted_though_a_lock_is_below_its_place(twins: Twins) -> None:
    packed(twins, A)
    twins.folder(B, junk=True)
    assert transact(twins, [("delete", A, None, twins.objects["first"])]) is None


@pytest.mark.parametrize("is_first", [True, False])
def test_an_edit_is_not_refused_for_the_sake_of_one_that_is_refused_itself(twins: Twins, is_first: bool) -> None:
    """A rejected name is in nobody's way any more (CONTRACT.md, 2.12)."""
    edits: list[Edit] = [create(twins, A), ("update", B, twins.objects["first"], twins.objects["second"])]
    if not is_first:
        edits.reverse()
    assert transact_singly(twins, edits) == [RefNotFoundError]
    assert twins.store[A].oid == twins.objects["first"]


@pytest.mark.parametrize("is_deep_first", [True, False])
@pytest.mark.parametrize("folder", [None, A, B])
def test_of_names_in_each_others_way_one_is_created(twins: Twins, folder: str | None, is_deep_first: bool) -> None:
    """Also where there is a directory already: our own lock in it is not in our way."""
    if folder:
        twins.folder(folder, junk=False)
    edits = [create(twins, A), create(twins, B)]
    if is_deep_first:
        edits.reverse()
    assert transact_singly(twins, edits) == [ConflictError]
    assert len(list(twins.store)) == 1


def test_of_three_names_in_each_others_way_one_is_created(twins: Twins) -> None:
    assert transact_singly(twins, [create(twins, A), create(twins, B), create(twins, C)]) == [ConflictError] * 2
    assert len(list(twins.store)) == 1


def test_a_name_may_not_take_the_place_of_one_that_is_deleted_at_once(twins: Twins) -> None:
    packed(twins, B)
    for deleted, created in [(B, A), (B, C)]:
        edits: list[Edit] = [("delete", deleted, None, twins.objects["first"]), create(twins, created)]
        assert transact(twins, edits) is ConflictError
        assert transact(twins, edits[::-1]) is ConflictError


def test_a_new_value_is_looked_at_before_what_the_ref_holds(twins: Twins) -> None:
    """As git does since 2.55; 2.47.3 says first that the ref is elsewhere."""
    packed(twins, A)
    edit: Edit = ("update", A, twins.objects["missing"], twins.objects["second"])
    assert isinstance(attempt(Transaction(twins.store), [edit]), InvalidValueError)
    assert transact(twins, [edit]) is InvalidValueError


def test_six_levels_of_directories_come_and_go(twins: Twins) -> None:
    name = "refs/1/2/3/4/5/6"
    assert transact(twins, [create(twins, name)]) is None
    assert transact(twins, [("delete", name, None, ANY)]) is None
    assert not (twins.ours.gitdir / "refs/1/2").exists()


def test_hundreds_of_refs_at_once_come_to_the_same(twins: Twins) -> None:
    names = [f"refs/{space}/{i % 7}/{i}" for i in range(300) for space in ("heads", "tags")]
    packed(twins, *names)
    changed: list[Edit] = [("update", name, twins.objects["second"], ANY) for name in names[::3]]
    deleted: list[Edit] = [("delete", name, None, twins.objects["first"]) for name in names[1::3]]
    kept: list[Edit] = [("verify", name, None, twins.objects["first"]) for name in names[2::3]]
    assert transact(twins, [*kept, *changed, *deleted]) is None
    twins.compare_listings()
