"""The command line: the text that git prints, its exit codes, and a good end whatever happens."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support import GIT_TRAITS, HASHES, HEX_LEN, Builder, Hash, Ref, git, git_listing, write_packed

MODULE = [sys.executable, "-m", "refspan"]
SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "refspan")]
OID = b"1" * 40

# File names and output are bytes to the command, whatever it is told about encodings.
ENCODINGS = [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "C.UTF-8"}]


def refspan(
    *args: str | Path, cwd: Path | None = None, command: list[str] = MODULE
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*command, *args], cwd=cwd, capture_output=True, timeout=60, check=False)


def show_ref(repo: Path) -> bytes:
    return git("show-ref", "-d", cwd=repo)


@pytest.fixture
def workshop(repository: Builder, tmp_path: Path) -> Path:
    """A repository whose packed-refs file may be written anew; the objects are those of `repository(20)`."""
    git("clone", "-q", "--mirror", repository(20), tmp_path / "repo.git")
    return tmp_path / "repo.git"


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
@pytest.mark.parametrize("hash_", HASHES)
def test_dump_prints_what_show_ref_prints(repository: Builder, hash_: Hash, command: list[str]) -> None:
    repo = repository(1000, hash_)
    done = refspan("dump", repo / "packed-refs", command=command)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == show_ref(repo)


@pytest.mark.slow
def test_dump_of_a_large_file_prints_what_show_ref_prints(repository: Builder, many: int) -> None:
    repo = repository(many)
    assert refspan("dump", repo / "packed-refs").stdout == show_ref(repo)


@pytest.mark.parametrize("encoding", ENCODINGS, ids=["C", "UTF-8"])
def test_dump_prints_names_as_they_are_in_every_locale(
    workshop: Path, monkeypatch: pytest.MonkeyPatch, encoding: dict[str, str]
) -> None:
    for name, value in encoding.items():
        monkeypatch.setenv(name, value)
    oid = git_listing(workshop)[0].oid
    names = ["refs/heads/größe".encode(), b"refs/heads/latin1-\xe9", b"refs/heads/\xff\xfe"]
    write_packed(workshop / "packed-refs", (Ref(name, oid, None) for name in sorted(names)))
    done = refspan("dump", workshop / "packed-refs")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == show_ref(workshop)


def test_dump_prints_duplicates_as_git_does(workshop: Path) -> None:
    first, second, *_ = {ref.oid for ref in git_listing(workshop)}
    refs = [Ref(b"refs/heads/a", first, None), Ref(b"refs/heads/a", second, None), Ref(b"refs/heads/b", first, None)]
    write_packed(workshop / "packed-refs", refs)
    done = refspan("dump", workshop / "packed-refs")
    assert done.stdout == show_ref(workshop)
    assert done.returncode == 128
    assert done.stderr.count(b"'refs/heads/a' is broken: duplicate") == 2


def test_dump_prints_names_of_one_level_as_git_does(workshop: Path) -> None:
    oid = git_listing(workshop)[0].oid
    write_packed(workshop / "packed-refs", [Ref(b"FOO", oid, None), Ref(b"foo", oid, None)])
    assert refspan("dump", workshop / "packed-refs").stdout == show_ref(workshop)


def test_dump_prints_upper_case_object_ids_as_git_does(workshop: Path) -> None:
    refs = [
        ref._replace(oid=ref.oid.upper(), peeled=ref.peeled and ref.peeled.upper()) for ref in git_listing(workshop)
    ]
    write_packed(workshop / "packed-refs", refs)
    assert refspan("dump", workshop / "packed-refs").stdout == show_ref(workshop)


def test_dump_prints_an_unsorted_file_in_order_as_git_does(workshop: Path) -> None:
    expected = show_ref(workshop)
    write_packed(workshop / "packed-refs", reversed(git_listing(workshop)), "peeled fully-peeled")
    assert refspan("dump", workshop / "packed-refs").stdout == expected == show_ref(workshop)


@pytest.mark.parametrize("traits", [GIT_TRAITS, None])
def test_dump_of_a_file_without_refs_prints_nothing(tmp_path: Path, traits: str | None) -> None:
    done = refspan("dump", write_packed(tmp_path / "packed-refs", [], traits))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Ref(b"refs/heads/b..", OID, None), b"'refs/heads/b..' is broken: bad name"),
        (Ref(b"refs/heads/b\r", OID, None), rb"'refs/heads/b\r' is broken: bad name"),
        (Ref(b"refs/heads/b..\xe9", OID, None), rb"'refs/heads/b..\udce9' is broken: bad name"),
        (Ref(b"refs/heads/b/../../x", OID, None), b"'refs/heads/b/../../x' is broken: unsafe name"),
        (Ref(b"refs/heads/b", b"0" * 40, None), b"'refs/heads/b' is broken: zero oid"),
    ],
)
def test_dump_names_a_broken_ref_and_prints_the_others(tmp_path: Path, broken: Ref, told: bytes) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/a", OID, None), broken, Ref(b"refs/z", OID, None)])
    done = refspan("dump", path)
    assert (done.returncode, done.stdout) == (128, OID + b" refs/heads/a\n" + OID + b" refs/z\n")
    assert done.stderr == b"refspan: %s: %s\n" % (bytes(path), told)


def test_dump_of_a_damaged_file_says_where_behind_what_could_be_read(tmp_path: Path) -> None:
    path = tmp_path / "packed-refs"
    path.write_bytes(b"# pack-refs with: sorted \n%s refs/heads/a\n\n%s refs/heads/b\n" % (OID, OID))
    done = refspan("dump", path)
    assert (done.returncode, done.stdout) == (128, OID + b" refs/heads/a\n")
    assert done.stderr.startswith(b"refspan: %s:3: " % bytes(path))
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("name", ["none", "caf\udce9"])
def test_dump_of_a_missing_file_fails(tmp_path: Path, name: str) -> None:
    done = refspan("dump", tmp_path / name)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"No such file or directory" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_dump_of_a_directory_fails(tmp_path: Path) -> None:
    done = refspan("dump", tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Is a directory" in done.stderr


@pytest.mark.parametrize("args", [[], ["dump"], ["dumb", "x"], ["dump", "x", "--hash", "md5"], ["dump", "x", "y"]])
def test_wrong_usage_has_the_exit_code_of_git(args: list[str]) -> None:
    done = refspan(*args)
    assert (done.returncode, done.stdout) == (129, b"")
    assert done.stderr.startswith(b"usage: refspan ")


def test_a_directory_may_be_given_as_to_git(workshop: Path, tmp_path: Path) -> None:
    expected = show_ref(workshop)
    assert refspan("-C", workshop, "dump", "packed-refs").stdout == expected
    assert refspan("-C", "repo.git", "dump", "packed-refs", cwd=tmp_path).stdout == expected
    assert refspan("-C", tmp_path, "-C", "repo.git", "dump", "packed-refs").stdout == expected
    assert refspan("-C", tmp_path, "dump", workshop / "packed-refs").stdout == expected


@pytest.mark.parametrize("hash_", HASHES)
def test_a_hash_may_be_demanded(repository: Builder, hash_: Hash) -> None:
    repo = repository(1, hash_)
    done = {hash_: refspan("dump", "--hash", hash_, repo / "packed-refs") for hash_ in HASHES}
    other = done.pop("sha256" if hash_ == "sha1" else "sha1")
    assert done[hash_].stdout == show_ref(repo)
    assert other.returncode == 128
    assert len(done[hash_].stdout.split()[0]) == HEX_LEN[hash_]


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
def test_a_reader_that_goes_away_is_no_error(repository: Builder, many: int, command: list[str]) -> None:
    # Far more than a pipe holds.
    path = repository(many) / "packed-refs"
    with subprocess.Popen([*command, "dump", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().endswith(b"\n")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_a_reader_that_was_never_there_is_no_error(workshop: Path) -> None:
    # Little enough that only the last flush fails.
    with subprocess.Popen(
        [*MODULE, "dump", workshop / "packed-refs"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("args", [["--help"], ["dump", "--help"]])
def test_help_is_no_error(args: list[str]) -> None:
    done = refspan(*args)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"usage: refspan ")


def test_dump_to_a_full_disk_fails_whether_buffered_or_not(tmp_path: Path) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/%05d" % i, OID, None) for i in range(2000)])
    script = 'ulimit -f 20; trap "" XFSZ; "$0" $1 -m refspan dump "$2" > "$3"'
    for option in ("-u", "-B"):
        command = ["sh", "-c", script, sys.executable, option, path, tmp_path / "out"]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 1
        assert b"File too large" in done.stderr
        assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(("redirection", "code"), [(">&-", 1), ("2>&-", 128), ("2>/dev/full", 128)])
def test_dump_without_a_place_for_its_output_has_its_exit_code(tmp_path: Path, redirection: str, code: int) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/a", b"0" * 40, None)])
    done = subprocess.run(["sh", "-c", f'"$0" -m refspan dump "$1" {redirection}', sys.executable, path], check=False)
    assert done.returncode == code


def test_version_is_printed() -> None:
    assert refspan("--version").stdout.startswith(b"refspan 0.")
