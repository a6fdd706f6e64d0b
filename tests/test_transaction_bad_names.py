"""Names that a transaction refuses: each is told, and nothing outside `refs/` is ever written or removed."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path

import pytest
from refspan import (
    ANY,
    ConflictError,
    Edit,
    RefExistsError,
    RefNameError,
    StaleError,
    Transaction,
    TransactionStateError,
)
from refusal_support import LOOSE, VERBS, Into, edit_of, everything, ordinary, refused, transact, untouched
from store_support import LATIN1, Repository, build, encode
from support import Ref, write_packed

# What each verb may expect, if it is to be as little as possible.
OLD = {"create": None, "update": ANY, "delete": ANY, "verify": None}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """For tests that change nothing."""
    return ordinary(tmp_path_factory.mktemp("names") / "repo")


# None of these may be edited in any way: a path built from one would lead out of the refs, or to what is none.
ESCAPING = [
    "../../config",
    "refs/heads/../../x",
    "refs/../config",
    "refs/heads/..",
    "refs/./x",
    "refs/heads//x",
    "/etc/x",
    "refs/heads/x/",
    "/refs/heads/x",
    "refs/",
    "refs",
    "",
    "/",
    ".",
    "@",
    "config",
    "hooks/x",
    "objects/x",
    "packed-refs",
    "index2",
    "foo",
    "FOO",
    "HEAD/x",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "logs/refs/heads/loose",
    "heads/loose",
    "refs/heads/a.lock/b",
    "refs/heads/loose.lock",
    "refs/heads/.hidden",
    "refs/.hidden/x",
    "refs/heads/a\0b",
    "refs/heads/a\0",
    "\0",
    "worktrees/nobody/../../config",
    "worktrees/../refs/bisect/x",
    "worktrees/nobody",
    "worktrees//refs/bisect/x",
    "worktrees/nobody/FETCH_HEAD",
    "worktrees/nobody/refs/bisect/x",
    "worktrees/nobody/HEAD",
    "worktrees/nobody/refs/heads/x",
    "main-worktree/../config",
    "main-worktree/MERGE_HEAD",
    "main-worktree/refs/heads/x",
]
# Git writes nothing under these, but what is there already may go.
BADLY_NAMED = [
    "main 2",
    "a..b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[",
    "a\\b",
    "a@{b",
    "a.",
    "a\nb",
    "a\tb",
    "\x7f",
    "\x01",
    " ",
    "a..\udce9",
]


@pytest.mark.parametrize("name", ESCAPING)
def test_a_name_that_leads_elsewhere_is_refused_by_every_verb(repo: Repository, name: str) -> None:
    transaction = Transaction(repo.path)
    with untouched(repo):
        for verb in VERBS:
            for spelled in (name, encode(name), memoryview(encode(name))):
                with pytest.raises(RefNameError) as caught:
                    transaction.apply([edit_of(verb, spelled, repo.commits[0], OLD[verb])])
                assert (caught.value.name, bool(caught.value.reason)) == (name, True)
        transaction.commit()


@pytest.mark.parametrize("name", ["../../config", "hooks/x", "FETCH_HEAD", "refs/heads/a.lock/b", "", "refs/a\0"])
def test_the_methods_refuse_it_as_apply_does(repo: Repository, name: str) -> None:
    transaction = Transaction(repo.path)
    with refused(repo, RefNameError):
        transaction.create(name, repo.commits[0])
    with refused(repo, RefNameError):
        transaction.update(name, repo.commits[0], repo.commits[1])
    with refused(repo, RefNameError):
        transaction.delete(name, repo.commits[0])
    with refused(repo, RefNameError):
        transaction.verify(name, repo.commits[0])
    assert transaction.state == "open"


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("name", BADLY_NAMED)
def test_a_badly_named_ref_is_never_written(repo: Repository, name: str, into: Into) -> None:
    transaction = Transaction(repo.path, into=into)
    for verb in ("create", "update"):
        with refused(repo, RefNameError) as caught:
            transaction.apply([edit_of(verb, f"refs/heads/{name}", repo.commits[0], ANY)])
        assert caught.value.name == f"refs/heads/{name}"


def test_a_name_that_cannot_be_spelled_in_bytes_is_refused(repo: Repository) -> None:
    # A lone surrogate that stands for no byte.
    name = "refs/heads/\ud800"
    transaction = Transaction(repo.path)
    for verb in VERBS:
        with refused(repo, RefNameError) as caught:
            transaction.apply([edit_of(verb, name, repo.commits[0], OLD[verb])])
        assert caught.value.name == name
    with pytest.raises(RefNameError):
        Edit("update", name, repo.commits[0], ANY)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("length", [251, 300])
def test_a_component_that_is_too_long_for_a_lock_is_an_error_of_the_system(
    repo: Repository, verb: str, length: int
) -> None:
    edit = edit_of(verb, "refs/heads/new/" + "x" * length, repo.commits[0], OLD[verb])
    with refused(repo, OSError) as caught:
        transact(repo, ("update", LOOSE, repo.commits[2], ANY), edit)
    assert caught.value.errno == errno.ENAMETOOLONG
    assert "x" * length in str(caught.value.filename)


def test_a_component_may_be_as_long_as_its_lock_can_be(tmp_path: Path) -> None:
    repo, name = ordinary(tmp_path / "repo"), "refs/heads/" + "x" * 250
    transact(repo, ("create", name, repo.commits[0], None))
    assert repo.git("rev-parse", name) == repo.commits[0]


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_any_bytes_of_a_well_formed_name_will_do(tmp_path: Path, into: Into) -> None:
    repo = ordinary(tmp_path / "repo")
    names = [
        LATIN1,
        "refs/heads/größe-\U0001f600",
        "refs/heads/\udc80\udcff",
        "refs/heads/-x",
        "refs/heads/@",
        "refs/x",
    ]
    told = ("for-each-ref", "--format=%(refname) %(objectname)", *names)
    transact(repo, *(("create", name, repo.commits[0], None) for name in names), into=into)
    assert sorted(repo.git(*told).splitlines()) == sorted(f"{name} {repo.commits[0]}" for name in names)
    transact(repo, *(("update", encode(name), repo.commits[1], repo.commits[0]) for name in names), into=into)
    assert sorted(repo.git(*told).splitlines()) == sorted(f"{name} {repo.commits[1]}" for name in names)
    transact(repo, *(("verify", name, None, repo.commits[1]) for name in names))
    transact(repo, *(("delete", name, None, repo.commits[1]) for name in names), into=into)
    assert repo.git(*told) == ""


def test_a_path_may_be_too_long_as_a_whole(repo: Repository) -> None:
    with refused(repo, OSError) as caught:
        transact(
            repo,
            ("update", LOOSE, repo.commits[2], ANY),
            ("create", "refs/heads/" + "x/" * 2100 + "x", repo.commits[0], None),
        )
    assert caught.value.errno == errno.ENAMETOOLONG


def test_a_name_that_is_no_text_is_told_as_readers_spell_it(tmp_path: Path) -> None:
    repo = ordinary(tmp_path / "repo")
    transact(repo, ("create", LATIN1, repo.commits[0], None))
    with refused(repo, RefExistsError) as exists:
        transact(repo, ("create", encode(LATIN1), repo.commits[0], None))
    with refused(repo, StaleError) as stale:
        transact(repo, ("delete", LATIN1, None, repo.commits[1]))
    with refused(repo, ConflictError) as conflict:
        transact(repo, ("create", f"{LATIN1}/x", repo.commits[0], None))
    assert exists.value.name == stale.value.name == conflict.value.other == LATIN1


def test_two_names_of_one_file_are_one_ref_edited_twice(repo: Repository, tmp_path: Path) -> None:
    main = build(tmp_path / "main")
    main.create("refs/heads/main")
    (tmp_path / "link").symlink_to(main.worktree("side").path)
    side = Repository(tmp_path / "link", main.gitdir / "worktrees/side", main.commits)
    for place, prefix in ((repo, "main-worktree"), (side, "worktrees/side")):
        for name in ("ORIG_HEAD", "refs/bisect/bad"):
            edits = (("verify", name, None, None), ("create", f"{prefix}/{name}", place.commits[0], None))
            # Not for ever: it would be its own lock that it waits for.
            with refused(place, TransactionStateError):
                transact(place, *edits, timeout=0)


def test_without_head_a_repository_would_be_none(repo: Repository) -> None:
    with refused(repo, RefNameError):
        transact(repo, ("delete", "HEAD", None, ANY))


UNSAFE = ["refs/../x", "refs/heads/../../config", "refs/heads//x", "refs/heads/a.lock", "refs/heads/.a", "foo", "a/b"]
SAFE = [name for name in BADLY_NAMED if "\n" not in name]


@pytest.mark.parametrize("name", BADLY_NAMED)
def test_a_badly_named_loose_ref_can_be_deleted(tmp_path: Path, name: str) -> None:
    repo, name = ordinary(tmp_path / "repo"), f"refs/heads/{name}"
    before = everything(repo.gitdir)
    repo.loose(name, f"{repo.commits[0]}\n")
    transact(repo, ("delete", name, None, repo.commits[0]))
    assert everything(repo.gitdir) == before


@pytest.mark.parametrize("name", [f"refs/heads/{name}" for name in SAFE] + UNSAFE)
def test_a_badly_named_packed_ref_can_be_deleted(tmp_path: Path, name: str) -> None:
    repo = ordinary(tmp_path / "repo")
    oid = repo.commits[0].encode()
    others = [Ref(other, oid, None) for other in (b"refs/aside", b"refs/heads/packed", b"refs/zebra")]
    write_packed(repo.gitdir / "packed-refs", others)
    before = everything(repo.gitdir)
    write_packed(repo.gitdir / "packed-refs", sorted([*others, Ref(encode(name), oid, None)]))
    with refused(repo, StaleError):
        transact(repo, ("delete", name, None, repo.commits[1]))
    transact(repo, ("delete", name, None, repo.commits[0]))
    assert everything(repo.gitdir) == before


@pytest.mark.parametrize(
    "name", ["shallow", "FETCH_HEAD", "MERGE_HEAD", "HEAD", "main-worktree/HEAD", "main-worktree/MERGE_HEAD"]
)
def test_a_packed_record_that_is_named_as_a_file_of_the_repository_does_not_take_that_along(
    tmp_path: Path, name: str
) -> None:
    repo = ordinary(tmp_path / "repo")
    write_packed(repo.gitdir / "packed-refs", [Ref(encode(name), repo.commits[0].encode(), None)])
    # Content that could be a ref's.
    file = repo.loose(name.removeprefix("main-worktree/"), f"{repo.commits[1]}\n")
    with suppress(RefNameError):
        transact(repo, ("delete", name, None, ANY))
    assert file.read_text() == f"{repo.commits[1]}\n"
