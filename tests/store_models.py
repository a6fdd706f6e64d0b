"""More for the tests of whole repositories: sets of refs in every shape that is read, and refs that are broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import refspan
from reftable_support import Row, listed, write_table
from reftable_writer import Shape
from store_support import Repository, build, encode, git_refs, told
from support import HEX_LEN, Hash, Ref, write_packed

# Names and values; that of a symbolic ref is `ref:` and its target.
Values = Mapping[str, str]
Refs = refspan.RefStore | refspan.Snapshot | refspan.PackedRefs | refspan.Reftable | refspan.ReftableStack
# Kind, name, value before and after.
Difference = tuple[str, str, str | None, str | None]

STORES = ("files", "files snapshot", "reftable", "reftable snapshot")
TABLES = ("stack", "table")
KINDS = (*STORES, *TABLES, "packed")
HEAD = "refs/heads/main"


def make(kind: str, folder: Path, refs: Values, hash_: Hash = "sha1") -> Refs:
    """A reader of that kind that holds these refs; HEAD leads to `main` in all but single files."""
    if kind == "packed":
        return refspan.PackedRefs(write_packed(folder / "packed-refs", _packed(refs), "sorted"))
    if kind == "table":
        return refspan.Reftable(write_table(folder / "1.ref", _rows(refs), hash_=hash_))
    if kind == "stack":
        return refspan.ReftableStack(_stack(folder, refs, hash_))
    store = refspan.open(repository(folder, kind.split()[0], refs, hash_))
    return store.snapshot() if kind.endswith("snapshot") else store


def repository(folder: Path, refs_format: str, refs: Values, hash_: Hash = "sha1") -> Path:
    """A bare repository without objects."""
    (folder / "objects").mkdir()
    (folder / "refs").mkdir()
    version = 0 if (refs_format, hash_) == ("files", "sha1") else 1
    config = f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n[extensions]\n"
    config += "\trefStorage = reftable\n" if refs_format == "reftable" else ""
    (folder / "config").write_text(config + (f"\tobjectFormat = {hash_}\n" if hash_ == "sha256" else ""))
    if refs_format == "reftable":
        (folder / "HEAD").write_text("ref: refs/heads/.invalid\n")
        (folder / "refs/heads").write_text("this repository uses the reftable format\n")
        _stack(folder / "reftable", refs, hash_)
    else:
        _loose_and_packed(folder, refs)
    return folder


def _loose_and_packed(folder: Path, refs: Values) -> None:
    """Every third ref packed, every third loose, and every third loose with an old value packed."""
    write_loose(folder, {"HEAD": f"ref:{HEAD}"})
    packed = {}
    for i, (name, value) in enumerate(refs.items()):
        if i % 3 or value.startswith("ref:"):
            write_loose(folder, {name: value})
        if i % 3 != 1 and not value.startswith("ref:"):
            packed[name] = value if i % 3 == 0 else value[::-1]
    write_packed(folder / "packed-refs", _packed(packed))


def write_loose(folder: Path, refs: Values) -> None:
    for name, value in refs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(value.replace("ref:", "ref: ") + "\n"))


def _stack(folder: Path, refs: Values, hash_: Hash) -> Path:
    """Three tables: what is changed and deleted later, most refs, and the changes."""
    folder.mkdir(exist_ok=True)
    oldest = dict.fromkeys([*refs, "refs/heads/deleted", "refs/zz"], ("5" * 64)[: HEX_LEN[hash_]])
    middle = {"HEAD": f"ref:{HEAD}", **{name: value for i, (name, value) in enumerate(refs.items()) if i % 4}}
    newest = {name: value for i, (name, value) in enumerate(refs.items()) if not i % 4}
    gone = [Row(encode(name)) for name in oldest.keys() - refs.keys()]
    contents = (_rows(oldest), _rows(middle), [*_rows(newest), *gone])
    tables = [
        write_table(folder / f"{i}.ref", rows, hash_=hash_, limits=(i, i), shape=Shape(objects=True))
        for i, rows in enumerate(contents, 1)
    ]
    return listed(folder, tables)


def _packed(refs: Values) -> list[Ref]:
    return sorted(Ref(encode(name), value.encode(), None) for name, value in refs.items())


def _rows(refs: Values) -> Iterator[Row]:
    for name, value in refs.items():
        if value.startswith("ref:"):
            yield Row(encode(name), target=encode(value.removeprefix("ref:")))
        else:
            yield Row(encode(name), value.encode())


def differences(changes: Iterable[refspan.Change]) -> list[Difference]:
    """What refspan finds in refs, not in logs."""

    def spell(value: str | refspan.Symref | refspan.LogEntry | None) -> str | None:
        assert not isinstance(value, refspan.LogEntry)
        return f"ref:{value.target}" if isinstance(value, refspan.Symref) else value

    return [(change.kind, change.name, spell(change.before), spell(change.after)) for change in changes]


def expected(a: Values, b: Values) -> list[Difference]:
    """What makes the first the second."""
    found: list[Difference] = []
    for name in sorted(a.keys() | b.keys(), key=encode):
        before, after = a.get(name), b.get(name)
        if before != after:
            kind = "create" if before is None else "delete" if after is None else "update"
            found.append((kind, name, before, after))
    return found


def simple(path: Path) -> Repository:
    """A repository in files with a packed ref, a loose one, and one that is both."""
    repo = build(path)
    repo.create("refs/heads/main", "refs/heads/packed")
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/main", "refs/heads/loose", at=1)
    return repo


def read(repo: Repository) -> dict[str, refspan.Ref]:
    """All refs by name. Look-ups and snapshots agree with the listing, and git does on what is not broken."""
    store = repo.store()
    refs = {ref.name: ref for ref in store}
    assert list(refs) == sorted(refs, key=encode) == list(store.names())
    assert list(store.snapshot()) == list(refs.values()) == list(store.refs(root_refs=True))[1:]
    for name, ref in refs.items():
        assert name in store
        assert store[name] == store.get(name) == store.snapshot().get(name) == ref
        assert list(store.refs(name)) == [found for found in refs.values() if found.name.startswith(name)]
    usable = [ref for ref in refs.values() if ref.broken is None and _leads_somewhere(store, ref.name)]
    assert told(usable) == [ref for ref in git_refs(repo) if ref.name not in refs or refs[ref.name].broken is None]
    return refs


def _leads_somewhere(store: refspan.RefStore, name: str) -> bool:
    try:
        return bool(store.resolve(name))
    except refspan.Error:
        return False


def broken(repo: Repository, name: str) -> str | None:
    """Why a ref is broken; all others are there and are not."""
    refs = read(repo)
    assert {"refs/heads/loose", "refs/heads/main", "refs/heads/packed"} <= refs.keys()
    assert {other for other, ref in refs.items() if ref.broken} <= {name}
    return refs[name].broken
