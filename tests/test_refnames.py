"""Which names are flagged as bad: held against `git check-ref-format --allow-onelevel`, and against git's safe rule."""

import os
import random
import subprocess
from pathlib import Path

from refspan import PackedRefs

OID = b"1234567890abcdef1234567890abcdef12345678"

# Each tries one rule, or what merely looks like a breach of one.
SAMPLES = [
    *b"a foo foo/bar foo/bar/baz refs/heads/main HEAD FETCH_HEAD refs A-B a/b/c/d".split(),
    *b"@ @@ @/a a/@ refs/heads/@ a@b a@ @{ a@{b a@/{b a{b { } a@b{c heads/v@{ation".split(),
    *b"/ /a //a a/ a//b a/b/ refs//heads/a refs/ refs// a///b".split(),
    *b". .. .a a. a.. a..b ./a a/. a/./b a/../b foo./bar foo/.bar a/b. refs/.foo ...a".split(),
    *b"a.b a.b.c heads/foo..bar heads/foo. .refs/foo a.../b a/..b a./b".split(),
    *b".lock a.lock x.lock/y x/y.lock a.lock. a.lockx lock a.LOCK a.lock.lock alock".split(),
    *(b"a b", b" a", b"a ", b"a\tb", b"a\rb", b"a\r", b"a\x01b", b"\x1fa", b"a\x7f", b"\x7f", b"a\x1b[0m", b"a\x0bb"),
    *b"a*b * a/* a/*/b */* a?b a[b a]b a\\b a^b a~b a:b a^{} a~1 heads/foo\\bar".split(),
    *b"a\"b a'b a|b a#b # a%b a!b ! a$b a&b a;b a<b> a(b) a,b a=b a+b a`b".split(),
    *b"caf\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87 \xff a/\xb1 \x80 e\xcc\x81 \xee\x90\xbf \xc2\xa0 heads/fu\xc3\x9f".split(
        b" "
    ),
    b"a" * 255 + b"/" + b"b" * 255,
]


def generated(count: int) -> list[bytes]:
    """Short names from bytes that some rule is about; the same ones in each run."""
    alphabet = [*b"a b / / . . @ { .lock - * ~ \x7f \xc3 refs/".split(), b" "]
    rng = random.Random(1402)
    return [b"".join(rng.choices(alphabet, k=rng.randint(1, 6))) for _ in range(count)]


# Git takes a name that starts with a dash for an option.
NAMES = sorted({name for name in [*SAMPLES, *generated(400)] if not name.startswith(b"-")})


def flags(path: Path, names: list[bytes]) -> dict[bytes, str | None]:
    path.write_bytes(b"".join(b"%b %b\n" % (OID, name) for name in names))
    return {bytes(ref.name): ref.broken for ref in PackedRefs(path)}


def git_accepts(name: bytes) -> bool:
    command = [b"git", b"check-ref-format", b"--allow-onelevel", name]
    return subprocess.run(command, check=False).returncode == 0


def git_finds_safe(repository: Path, name: bytes) -> bool:
    """Safe is all that git asks of the name of a symbolic ref. (What else may fail, a conflict, is not about it.)"""
    command = [b"git", b"symbolic-ref", name, b"refs/heads/main"]
    done = subprocess.run(command, cwd=repository, env={**os.environ, "LC_ALL": "C"}, check=False, capture_output=True)
    return b"with bad name" not in done.stderr


def leads_elsewhere(name: bytes) -> bool:
    """Well-formed, but the path of no ref, such as `hooks/x`."""
    return b"/" in name and not name.startswith(b"refs/")


def test_a_name_is_flagged_exactly_where_git_refuses_it_or_it_leads_elsewhere(tmp_path: Path) -> None:
    flagged = flags(tmp_path / "packed-refs", NAMES)
    assert len(flagged) == len(NAMES) > 400
    expected = {name for name in NAMES if leads_elsewhere(name) or not git_accepts(name)}
    assert {name for name, flag in flagged.items() if flag} == expected


def test_a_bad_name_is_unsafe_exactly_where_git_would_not_even_delete_it(tmp_path: Path) -> None:
    names = sorted({name for name in SAMPLES for name in (name, b"refs/" + name)})
    bad = {name: flag for name, flag in flags(tmp_path / "packed-refs", names).items() if flag}
    subprocess.run(["git", "init", "-q", tmp_path / "repository"], check=True)
    git = {name: "bad name" if git_finds_safe(tmp_path / "repository", name) else "unsafe name" for name in bad}
    assert bad == git
    assert set(bad.values()) == {"bad name", "unsafe name"}


def test_a_dash_may_start_a_name(tmp_path: Path) -> None:
    names = [b"-", b"--", b"-x", b"refs/heads/-x", b"refs/-/-"]
    assert flags(tmp_path / "packed-refs", names) == dict.fromkeys(names)
