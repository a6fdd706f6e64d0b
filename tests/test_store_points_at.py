"""Which refs lead to an object: those that `git for-each-ref --points-at` shows, through tags at every level."""

from __future__ import annotations

from pathlib import Path

import pytest
import refspan
from store_support import FORMATS, SAMPLES, Format, Repository, build, git_refs, sample, sample_name, told
from support import git


@pytest.fixture(params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


def objects(place: Repository) -> list[str]:
    """The commits, their tree, and all tags."""
    listed = place.git("for-each-ref", "--format=%(objectname)")
    return sorted({*place.commits, place.git("rev-parse", f"{place.commits[0]}^{{tree}}"), *listed.split()})


def assert_as_git(place: Repository) -> None:
    store = place.store()
    for oid in objects(place):
        assert told(store.points_at(oid)) == git_refs(place, f"--points-at={oid}")


def test_refs_lead_where_git_says(place: Repository) -> None:
    assert len(objects(place)) == 12
    assert_as_git(place)


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_nested_tag_leads_to_each_object_on_the_way(tmp_path: Path, refs: Format, packed: bool) -> None:
    repo = build(tmp_path, refs)
    chain = [repo.commits[0]]
    for level in range(4):
        chain.append(repo.tag(f"v{level}", chain[-1]))
    repo.symref("refs/heads/alias", "refs/tags/v3")
    if packed:
        repo.git("pack-refs", "--all")
    names = [f"refs/tags/v{level}" for level in range(4)]
    for level, oid in enumerate(chain):
        found = [ref.name for ref in repo.store().points_at(oid)]
        # A tag is found by its own object too, as a ref to it, and the symbolic ref with the last.
        assert found == ["refs/heads/alias", *names[max(level - 1, 0) :]]
        assert told(repo.store().points_at(oid)) == git_refs(repo, f"--points-at={oid}")
    # Whatever is peeled is peeled to the end.
    assert {ref.peeled for ref in repo.store().refs("refs/tags/")} == {repo.commits[0]}


@pytest.mark.parametrize("header", ["", "# pack-refs with: sorted \n", "# pack-refs with: peeled sorted \n"])
@pytest.mark.parametrize("peeled", [False, True])
def test_what_packed_refs_does_not_tell_is_in_the_object_database(tmp_path: Path, header: str, peeled: bool) -> None:
    repo = build(tmp_path)
    inner = repo.tag("inner", repo.commits[0])
    outer = repo.tag("outer", inner)
    repo.create("refs/heads/main")
    # Outside refs/tags/, where `peeled` promises nothing.
    lines = [f"{repo.commits[0]} refs/heads/main", f"{outer} refs/other/tag"]
    for name in ("inner", "outer"):
        repo.git("update-ref", "-d", f"refs/tags/{name}")
    if peeled:
        lines += [f"{oid} refs/tags/{name}\n^{repo.commits[0]}" for name, oid in (("inner", inner), ("outer", outer))]
    repo.git("update-ref", "-d", "refs/heads/main")
    (repo.gitdir / "packed-refs").write_text(header + "".join(f"{line}\n" for line in lines))
    assert_as_git(repo)
    assert repo.store()["refs/other/tag"].peeled == repo.commits[0]
    assert [ref.name for ref in repo.store().points_at(inner)] == [
        "refs/other/tag",
        *(["refs/tags/inner", "refs/tags/outer"] if peeled else []),
    ]


def test_a_header_that_claims_too_much_is_not_believed(tmp_path: Path) -> None:
    # Git 2.53 and newer writes this over tags that it has not peeled; older ones then lose what they point at.
    repo = build(tmp_path)
    inner = repo.tag("inner", repo.commits[0])
    repo.tag("outer", inner)
    repo.git("pack-refs", "--all")
    packed = repo.gitdir / "packed-refs"
    lines = packed.read_text().splitlines()
    assert "fully-peeled" in lines[0]
    packed.write_text("".join(f"{line}\n" for line in lines if not line.startswith("^")))
    assert_as_git(repo)
    assert {ref.peeled for ref in repo.store()} == {repo.commits[0]}


@pytest.mark.parametrize("where", ["packs", "alternates"])
def test_tags_are_found_wherever_git_keeps_objects(tmp_path: Path, where: str) -> None:
    repo = build(tmp_path / "repo")
    inner = repo.tag("inner", repo.commits[0])
    repo.tag("outer", inner)
    if where == "packs":
        repo.git("repack", "-adq")
        assert not (repo.gitdir / f"objects/{inner[:2]}/{inner[2:]}").exists()
        assert_as_git(repo)
    else:
        shared = build(tmp_path / "shared")
        (shared.gitdir / "objects/info/alternates").write_text(f"{repo.gitdir / 'objects'}\n")
        for name in ("inner", "outer"):
            shared.loose(f"refs/tags/{name}", repo.git("rev-parse", f"refs/tags/{name}") + "\n")
        assert_as_git(shared)
        assert {ref.peeled for ref in shared.store()} == {repo.commits[0]}


def test_a_tag_whose_object_is_missing_leads_to_itself(tmp_path: Path) -> None:
    repo = build(tmp_path)
    repo.create("refs/heads/main")
    repo.loose("refs/tags/lost", f"{'1' * 40}\n")
    store = repo.store()
    assert [ref.name for ref in store.points_at("1" * 40)] == ["refs/tags/lost"]
    assert [ref.name for ref in store.points_at(repo.commits[0])] == ["refs/heads/main"]
    assert store["refs/tags/lost"].peeled is None


@pytest.mark.parametrize("refs", FORMATS)
def test_an_object_id_may_be_spelled_in_every_way(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path, refs)
    repo.create("refs/heads/main", at=1)
    store, oid = repo.store(), repo.commits[1]
    raw = bytes.fromhex(oid)
    for spelling in (oid, oid.upper(), oid.encode(), raw, memoryview(raw), memoryview(oid.encode())):
        assert [ref.name for ref in store.points_at(spelling)] == ["refs/heads/main"]
    # A ref stands for its object id, and ids of the other hash are none.
    assert [ref.name for ref in store.points_at(store["refs/heads/main"])] == ["refs/heads/main"]
    for wrong in ("", "main", oid[:-1], oid + "0", "g" * 40, raw[:-1], "1" * 64, b"1" * 64, b"\x11" * 32, store.head):
        with pytest.raises(refspan.InvalidValueError):
            store.points_at(wrong)


@pytest.mark.parametrize("refs", FORMATS)
def test_a_moved_ref_does_not_lead_where_it_was(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path, refs)
    repo.create("refs/heads/main", "refs/heads/other")
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/main", at=1)
    git("update-ref", "-d", "refs/heads/other", cwd=repo.path)
    assert list(repo.store().points_at(repo.commits[0])) == []
    assert_as_git(repo)


@pytest.mark.parametrize("refs", FORMATS)
def test_symbolic_refs_may_lead_into_other_worktrees(tmp_path: Path, refs: Format) -> None:
    main = build(tmp_path / "main", refs)
    main.create("refs/heads/main")
    side = main.worktree("side")
    side.create("refs/bisect/bad", at=1)
    main.create("refs/bisect/bad", at=2)
    main.symref("refs/heads/to-side", "worktrees/side/refs/bisect/bad")
    main.symref("refs/heads/to-main", "main-worktree/refs/bisect/bad")
    for where in (main, side):
        assert_as_git(where)
        assert "refs/heads/to-side" in [ref.name for ref in where.store().points_at(main.commits[1])]
        assert where.store().resolve("refs/heads/to-side").oid == main.commits[1]
        assert where.store().resolve("refs/heads/to-main").oid == main.commits[2]
        # A snapshot does not know where they lead, and says so.
        with pytest.raises(refspan.UnsupportedError, match="other worktrees"):
            where.store().snapshot().points_at(main.commits[1])
