"""Values that a transaction refuses: no object ids, those of the other hash, objects that a ref cannot hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from refspan import ANY, Edit, InvalidValueError, RefNotFoundError, StaleError, Symref, Transaction, UnsupportedError
from refusal_support import BOTH, LOOSE, MISSING, PACKED, VERBS, Into, edit_of, ordinary, refused, transact, untouched
from store_support import Repository, build, null
from support import HASHES, Hash

NEW = "refs/heads/new"


@pytest.fixture(scope="module")
def repos(tmp_path_factory: pytest.TempPathFactory) -> dict[Hash, Repository]:
    """One of each hash, for tests that change nothing."""
    path = tmp_path_factory.mktemp("values")
    return {hash_: ordinary(path / hash_, hash_) for hash_ in HASHES}


@pytest.fixture
def repo(repos: dict[Hash, Repository]) -> Repository:
    return repos["sha1"]


NO_OIDS = [
    "",
    "1" * 39,
    "1" * 41,
    "1" * 63,
    "1" * 65,
    "g" * 40,
    " " + "1" * 39,
    "1" * 40 + "\n",
    "0x" + "1" * 38,
    "+" + "1" * 39,
    "1" * 39 + "\0",
    "\uff11" * 40,
    "\ud800" * 40,
    b"",
    b"1" * 39,
    b"g" * 40,
    b"1" * 40 + b"\n",
    b"\1" * 19,
    b"\1" * 21,
    b"\1" * 31,
    b"\1" * 33,
    bytearray(b"1" * 41),
    memoryview(b"\1" * 19),
    "HEAD",
    LOOSE,
]


@pytest.mark.parametrize("value", NO_OIDS, ids=repr)
def test_what_is_no_object_id_is_refused_with_the_name_it_was_meant_for(repo: Repository, value: str | bytes) -> None:
    transaction = Transaction(repo.path)
    edits = [edit_of(verb, NEW, value, ANY) for verb in ("create", "update")]
    edits += [edit_of(verb, NEW, repo.commits[0], value) for verb in ("update", "delete", "verify")]
    with untouched(repo):
        for edit in edits:
            with pytest.raises(InvalidValueError) as caught:
                transaction.apply([edit])
            assert (caught.value.name, caught.value.value) == (NEW, value)
            with pytest.raises(InvalidValueError):
                Edit(*edit)
        transaction.commit()


@pytest.mark.parametrize("hash_", HASHES)
def test_no_ref_can_hold_the_null_object_id_nor_one_of_another_hash(repos: dict[Hash, Repository], hash_: Hash) -> None:
    repo, others = repos[hash_], [repos[other].commits[0] for other in HASHES if other != hash_]
    transaction = Transaction(repo.path)
    with untouched(repo):
        for value in (null(hash_), *others):
            for spelled in (value, value.encode(), bytes.fromhex(value), memoryview(bytes.fromhex(value))):
                edits = [edit_of(verb, NEW, spelled, ANY) for verb in ("create", "update")]
                edits += [edit_of(verb, NEW, repo.commits[0], spelled) for verb in ("update", "delete", "verify")]
                for edit in edits:
                    with pytest.raises(InvalidValueError) as caught:
                        transaction.apply([edit])
                    assert (caught.value.name, caught.value.value) == (NEW, value)
        transaction.commit()


@pytest.mark.parametrize("value", [1, 1.0, True, [], (), object(), {"oid": MISSING}, type, ["1" * 40]], ids=repr)
def test_a_value_of_another_type_is_a_type_error(repo: Repository, value: object) -> None:
    transaction = Transaction(repo.path)
    edits = [edit_of(verb, NEW, value, ANY) for verb in ("create", "update")]
    edits += [edit_of(verb, NEW, repo.commits[0], value) for verb in ("update", "delete", "verify")]
    edits += [edit_of(verb, value, repo.commits[0], repo.commits[0]) for verb in VERBS]
    with untouched(repo):
        for edit in edits:
            with pytest.raises(TypeError):
                transaction.apply([edit])
        transaction.commit()


def test_a_ref_stands_for_its_object_id_unless_it_is_symbolic(tmp_path: Path) -> None:
    repo = ordinary(tmp_path / "repo")
    repo.symref("refs/heads/alias", LOOSE)
    store = repo.store()
    with refused(repo, InvalidValueError):
        transact(repo, ("create", NEW, store["refs/heads/alias"], None))
    for value in (store["refs/heads/alias"], Symref(LOOSE)):
        with refused(repo, UnsupportedError):
            transact(repo, ("update", NEW, repo.commits[0], value))
    transact(repo, ("create", NEW, store[LOOSE], None), ("update", PACKED, store[LOOSE], store[PACKED]))
    assert [repo.git("rev-parse", name) for name in (NEW, PACKED)] == [repo.commits[1]] * 2


def objects(repo: Repository) -> dict[str, str]:
    """Object ids by what they lead to."""
    commit = repo.commits[0]
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"blob")
    kinds = {"commit": commit, "tree": f"{commit}^{{tree}}", "tag": "refs/tags/v1"}
    return {kind: repo.git("rev-parse", name) for kind, name in kinds.items()} | {"blob": blob, "missing": MISSING}


@pytest.mark.parametrize("kind", ["missing", "tree", "tag", "blob"])
@pytest.mark.parametrize("name", [NEW, LOOSE, PACKED, "HEAD"])
def test_a_branch_holds_commits_only(tmp_path: Path, name: str, kind: str) -> None:
    repo = ordinary(tmp_path / "repo")
    (repo.gitdir / "HEAD").write_text(f"{repo.commits[0]}\n")
    value = objects(repo)[kind]
    with refused(repo, InvalidValueError) as caught:
        transact(repo, ("update", BOTH, repo.commits[2], ANY), ("update", name, value, ANY))
    reason = "no such object" if kind == "missing" else "not a commit, as branches hold,"
    assert (caught.value.name, caught.value.value, caught.value.reason) == (name, value, reason)


def test_the_reason_is_the_same_however_often_one_object_is_given(tmp_path: Path) -> None:
    repo = ordinary(tmp_path / "repo")
    blob = objects(repo)["blob"]
    edits = [("create", f"refs/heads/new-{i}", blob, None) for i in range(3)]
    done = transact(repo, *edits, ("create", "refs/tags/new", blob, None), atomic=False)
    errors = [error for _, error in done.rejected if isinstance(error, InvalidValueError)]
    assert [error.reason for error in errors] == ["not a commit, as branches hold,"] * 3


def test_elsewhere_any_object_will_do_if_there_is_one(tmp_path: Path) -> None:
    repo = ordinary(tmp_path / "repo")
    values = objects(repo)
    for kind in ("commit", "tree", "tag", "blob"):
        transact(
            repo, ("create", f"refs/tags/{kind}", values[kind], None), ("create", f"refs/x/{kind}", values[kind], None)
        )
        assert repo.git("rev-parse", f"refs/tags/{kind}", f"refs/x/{kind}").split() == [values[kind]] * 2
    with refused(repo, InvalidValueError) as caught:
        transact(repo, ("create", "refs/tags/missing", MISSING, None))
    assert caught.value.reason == "no such object"


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_without_the_check_any_object_id_will_do(tmp_path: Path, into: Into) -> None:
    repo = ordinary(tmp_path / "repo")
    values = objects(repo)
    edits = [("create", f"refs/heads/new-{kind}", value, None) for kind, value in values.items()]
    transact(repo, *edits, check=False, into=into)
    listing = {ref.name: ref.oid for ref in repo.store()}
    assert {name: listing[name] for _, name, _, _ in edits} == {name: value for _, name, value, _ in edits}


def test_without_an_object_database_nothing_can_be_checked(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", bare=True)
    (repo.gitdir / "objects").rename(tmp_path / "elsewhere")
    (repo.gitdir / "objects").write_text("no folder")
    with refused(repo, OSError):
        transact(repo, ("create", NEW, repo.commits[0], None))


@pytest.mark.parametrize("name", [LOOSE, PACKED, BOTH, NEW])
def test_what_is_expected_needs_no_object(repo: Repository, name: str) -> None:
    kind: type[RefNotFoundError | StaleError] = RefNotFoundError if name == NEW else StaleError
    for edit in (
        ("update", name, repo.commits[0], MISSING),
        ("delete", name, None, MISSING),
        ("verify", name, None, MISSING),
    ):
        with refused(repo, kind) as caught:
            transact(repo, edit)
        assert caught.value.name == name
