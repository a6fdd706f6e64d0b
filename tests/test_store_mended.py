"""What once was wrong of names, links, chains and single files, each beside what git says of the same."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import refspan
from refspan import CorruptError, RepositoryNotFoundError
from reftable_support import needs_reftables
from store_models import simple
from store_support import FORMATS, Format, Repository, build, encode, git_log, git_refs, line, null, shown, told
from support import Ref, write_packed

NAME = "refs/heads/main"
WHO = "C <c@example.com>"
Done = tuple[int, bytes, bytes]


@pytest.fixture(autouse=True)
def ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository is found above."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository in files with a packed ref, a loose one, and one that is both."""
    return simple(tmp_path / "repo")


def run(program: str, where: Path, *args: str | Path, stdin: bytes = b"") -> Done:
    """The exit code and the output of git or of ours, and its complaints without how loud they are."""
    command = ["git"] if program == "git" else [sys.executable, "-m", "refspan"]
    done = subprocess.run([*command, "-C", where, *args], input=stdin, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout, re.sub(rb"(?m)^(fatal|error|refspan): ", b"", done.stderr)


def assert_as_git(repo: Repository, *args: str, stdin: bytes = b"", code: int = 0) -> None:
    """`show-ref` ends and says what git does, with that exit code."""
    expected = run("git", repo.path, "show-ref", *args, stdin=stdin)
    assert run("refspan", repo.path, "show-ref", *args, stdin=stdin) == expected
    assert expected[0] == code


@pytest.fixture(params=FORMATS)
def chain(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    """A repository of either format with symbolic refs, each to the one before it, and the first to a branch."""
    repo = build(tmp_path / "repo", request.param)
    repo.create(NAME)
    for i in range(1, 6):
        repo.symref(f"refs/heads/s{i}", f"refs/heads/s{i - 1}" if i > 1 else NAME)
    return repo


def test_too_long_a_chain_is_not_shown(chain: Repository) -> None:
    assert_as_git(chain, "-d")
    assert [ref.name for ref in git_refs(chain)] == [NAME, *(f"refs/heads/s{i}" for i in range(1, 5))]


def test_too_long_a_chain_leads_to_no_object(chain: Repository) -> None:
    for store in (chain.store(), chain.store().snapshot()):
        assert told(store.points_at(chain.commits[0])) == git_refs(chain, f"--points-at={chain.commits[0]}")


@pytest.mark.parametrize(
    "target", ["ORIG_HEAD", "logs/HEAD", "../outside", "./refs/heads/main", "../.git/refs/heads/main"]
)
def test_a_head_that_is_a_link_out_of_the_refs_is_none(repo: Repository, target: str) -> None:
    repo.create("ORIG_HEAD")
    (repo.path / "outside").write_text("ref: refs/heads/main\n")
    (repo.gitdir / "HEAD").unlink()
    (repo.gitdir / "HEAD").symlink_to(target)
    assert run("git", repo.path, "rev-parse", "--git-dir")[0] == 128
    with pytest.raises(RepositoryNotFoundError):
        refspan.open(repo.path)


PASSED_OVER = ["refs/heads/.h/x", "refs/heads/x.lock/y", "refs/heads/d/.h/x", "refs/.h/x"]


@pytest.mark.parametrize("name", PASSED_OVER)
def test_neither_prefix_nor_glob_leads_into_what_git_passes_over(repo: Repository, name: str) -> None:
    repo.loose(name, f"{repo.commits[0]}\n")
    folder = name.rpartition("/")[0]
    for store in (repo.store(), repo.store().snapshot()):
        assert told(store) == git_refs(repo)
        for prefix in (name, folder, f"{folder}/"):
            assert [*store.refs(prefix=prefix), *store.names(prefix)] == []
        for glob in (name, folder, f"{folder}/", f"{folder}/*", f"{folder}/**"):
            assert told(store.refs(glob=glob)) == git_refs(repo, glob)
            assert list(store.refs(glob=glob)) == []


@pytest.fixture
def loop(repo: Repository) -> Repository:
    """The same with a link from a folder of refs to the one around it."""
    (repo.gitdir / "refs/heads/loop").symlink_to("..")
    return repo


PREFIXES = [
    "refs/heads/loop",
    "refs/heads/loop/",
    "refs/heads/loop/heads/",
    "refs/heads/loop/heads/main",
    "refs/heads/l",
]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_prefix_goes_no_further_round_than_a_listing(loop: Repository, prefix: str) -> None:
    for store in (loop.store(), loop.store().snapshot()):
        assert list(store.refs(prefix=prefix)) == [ref for ref in store if ref.name.startswith(prefix)]


def test_a_link_that_leads_round_is_broken(loop: Repository) -> None:
    for store in (loop.store(), loop.store().snapshot()):
        refs = {ref.name: ref for ref in store}
        assert {name for name, ref in refs.items() if ref.broken} == {"refs/heads/loop"}
        assert refs["refs/heads/loop"].broken == "symlink loop"
        assert store.get("refs/heads/loop") == refs["refs/heads/loop"]


@pytest.mark.parametrize("refs", FORMATS)
def test_a_dangling_symbolic_ref_does_not_exist_for_git(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "repo", refs)
    repo.create(NAME)
    repo.symref("refs/heads/dangling", "refs/heads/none")
    repo.symref("refs/heads/alias", NAME)
    stdin = b"refs/heads/dangling\nrefs/heads/alias\nrefs/heads/main\nrefs/heads/none\n"
    assert_as_git(repo, "--exclude-existing", stdin=stdin)
    assert run("refspan", repo.path, "show-ref", "--exclude-existing", stdin=stdin)[1].startswith(
        b"refs/heads/dangling\n"
    )


@pytest.mark.parametrize("args", ["--head", "--head -d", "--head main", "--head none"])
def test_a_head_of_zeros_is_fatal_as_for_git(repo: Repository, args: str) -> None:
    (repo.gitdir / "HEAD").write_text(f"{null()}\n")
    assert_as_git(repo, *args.split(), code=128)


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("name", ["refs/heads/main/below", "refs/heads/main/b/e", "HEAD/below"])
def test_what_is_below_a_ref_exists_as_for_git(tmp_path: Path, refs: Format, name: str) -> None:
    repo = build(tmp_path / "repo", refs)
    repo.create(NAME)
    assert_as_git(repo, "--exists", name, code=1 if refs == "files" else 2)


@pytest.fixture
def stray(tmp_path: Path) -> tuple[Repository, Repository]:
    """A repository, and a linked worktree of it whose own stack holds shared refs too, as they were once."""
    main = build(tmp_path / "main", "reftable")
    main.create(NAME, "refs/heads/gone", "refs/tags/v1", "refs/bisect/bad")
    main.symref("refs/heads/alias", NAME)
    side = main.worktree("side")
    shutil.rmtree(side.gitdir / "reftable")
    shutil.copytree(main.gitdir / "reftable", side.gitdir / "reftable")
    main.create(NAME, "refs/heads/new", "refs/bisect/bad", at=1)
    main.update("delete refs/heads/gone")
    return main, side


@needs_reftables
def test_shared_refs_in_a_stack_of_a_worktree_are_no_refs(stray: tuple[Repository, Repository]) -> None:
    main, side = stray
    shared = [ref for ref in git_refs(main) if not ref.name.startswith("refs/bisect/")]
    for store in (side.store(), side.store().snapshot()):
        assert [ref for ref in told(store) if not ref.name.startswith("refs/bisect/")] == shared
        assert list(store.names()) == sorted({*store.names()})
        assert store["refs/bisect/bad"].oid == main.commits[0]


@needs_reftables
def test_a_name_in_two_stacks_is_found_as_listed(stray: tuple[Repository, Repository]) -> None:
    main, side = stray
    for store in (side.store(), side.store().snapshot()):
        assert all(store.get(ref.name) == ref for ref in store.refs(root_refs=True))
        assert store["refs/heads/main"].oid == side.git("rev-parse", NAME) == main.commits[1]
        assert store.get("refs/heads/gone") is None
        assert "refs/heads/gone" not in store


# The first is what two spaces behind an object id make of a name.
UNSAFE = [" refs/heads/a", "refs/../x", "refsx/heads/main"]


def spoil(repo: Repository) -> None:
    """Put unsafe names into packed-refs."""
    names = sorted(encode(name) for name in [*UNSAFE, NAME, "refs/heads/packed"])
    write_packed(repo.gitdir / "packed-refs", [Ref(name, repo.commits[0].encode(), None) for name in names])


@pytest.mark.parametrize("root_refs", [False, True])
def test_unsafe_names_are_listed_as_broken_wherever_they_sort(repo: Repository, root_refs: bool) -> None:
    names = [ref.name for ref in repo.store().refs(root_refs=root_refs)]
    spoil(repo)
    for store in (repo.store(), repo.store().snapshot()):
        refs = list(store.refs(root_refs=root_refs))
        assert [ref.name for ref in refs] == sorted([*names, *UNSAFE])
        assert {ref.name: ref.broken for ref in refs if ref.broken} == dict.fromkeys(UNSAFE, "unsafe name")
        assert {ref.oid for ref in refs if ref.broken} == {repo.commits[0]}


def test_only_what_is_below_refs_starts_with_it(repo: Repository) -> None:
    spoil(repo)
    store = repo.store()
    expected = ["refs/../x", "refs/heads/loose", NAME, "refs/heads/packed"]
    assert list(store.names("refs/")) == [ref.name for ref in store.refs(prefix="refs/")] == expected


def test_unsafe_names_change_neither_digest_nor_difference(repo: Repository) -> None:
    before = repo.store().snapshot()
    spoil(repo)
    assert list(refspan.diff(before, repo.store())) == list(refspan.diff(repo.store(), before)) == []
    assert repo.store().digest() == repo.store().snapshot().digest() == before.digest()


@pytest.mark.parametrize("args", [". missing", "missing .", "--reflogs . .git/packed-refs", ". .git/config"])
def test_no_error_looks_like_a_difference(repo: Repository, args: str) -> None:
    code, out, errors = run("refspan", repo.path, "diff", *args.split())
    assert (code, out) == (128, b"")
    assert errors.count(b"\n") == 1
    assert encode(args.split()[0 if args[0] == "m" else -1]) in errors


def test_a_log_that_differs_is_a_line_of_its_first_entries(tmp_path: Path) -> None:
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    for repo, message in ((a, "old"), (b, "new")):
        # Without a message an entry has no TAB.
        repo.create(NAME, f"refs/heads/{message}")
        repo.git("update-ref", "-m", message, NAME, repo.commits[1])
    first, *_ = a.store().reflog("refs/heads/old")
    old, new = ([*repo.store().reflog(NAME)][1] for repo in (a, b))
    code, out, errors = run("refspan", tmp_path, "diff", "--reflogs", "a", "b")
    assert (code, errors) == (1, b"")
    assert [text for text in out.decode().splitlines() if text.startswith("reflog refs/")] == [
        f"reflog {NAME}\t{line(old)}\t{line(new)}",
        f"reflog refs/heads/new\t-\t{line(first)}",
        f"reflog refs/heads/old\t{line(first)}\t-",
    ]


@pytest.mark.parametrize("content", [b"", b"junk\n", b"\0" * 5000, b"gitdir: nowhere\n", b"gitdir"])
@pytest.mark.parametrize("where", ["outside", "repo/inside", "repo/.git/description"])
def test_an_ordinary_file_is_no_repository(repo: Repository, where: str, content: bytes) -> None:
    path = repo.path.parent / where
    path.write_bytes(content)
    with pytest.raises(RepositoryNotFoundError) as caught:
        refspan.open(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("content", [b"", b"junk\n", b"\0" * 5000, b"gitdir"])
def test_a_git_file_of_other_content_is_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ".git"
    path.write_bytes(content)
    for start in (path, tmp_path):
        with pytest.raises(CorruptError) as caught:
            refspan.open(start)
        assert caught.value.path == str(path)


def test_a_git_file_may_have_another_name(repo: Repository) -> None:
    path = repo.path.parent / "link"
    path.write_text(f"gitdir: {repo.gitdir}\n")
    assert told(refspan.open(path)) == git_refs(repo)


@pytest.mark.parametrize("time", ["+5", "+05", " +5", "+1700000000", "++5", "+ 5", "+0", "-0", "+"])
def test_a_time_may_have_a_sign(repo: Repository, time: str) -> None:
    a, b, c = repo.commits
    entries = (f"{null()} {a} {WHO} 1700000000 +0000\tfirst", f"{a} {b} {WHO} {time} +0530\tsigned")
    repo.loose(f"logs/{NAME}", "".join(f"{entry}\n" for entry in (*entries, f"{b} {c} {WHO} 1700000000 +0000\tlast")))
    for store in (repo.store(), repo.store().snapshot()):
        assert shown(store.reflog(NAME, reverse=True)) == shown(store.reflog(NAME))[::-1] == git_log(repo, NAME)


@pytest.mark.parametrize("name", ["refs/heads/d.lock/x", "refs/heads/.h/x", "refs/heads/a.lock/b.lock/x"])
def test_a_log_below_a_folder_with_such_a_name_is_one(repo: Repository, name: str) -> None:
    repo.loose(f"logs/{name}", f"{null()} {repo.commits[0]} {WHO} 1700000000 +0000\tthere\n")
    for store in (repo.store(), repo.store().snapshot()):
        assert list(store.reflogs()) == repo.git("reflog", "list").splitlines()
        assert name in store.reflogs()
        assert [entry.message for entry in store.reflog(name)] == ["there"]
