"""Files that nobody would write: cut anywhere, every bit flipped, lines and bytes shuffled.

A model of the format in plain Python, written from its description, says what each of them holds.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refspan import CorruptError, PackedRefs, RefView

T = TypeVar("T")
U = TypeVar("U")

SHA1 = (b"1234567890abcdef1234567890abcdef12345678", b"fedcba0987fedcba0987fedcba0987fedcba0987")
SHA256 = (SHA1[0] + SHA1[0][:24], SHA1[1] + SHA1[1][:24])


class Row(NamedTuple):
    """One ref, as it is listed."""

    name: bytes
    oid: bytes
    peeled: bytes | None
    broken: str | None


class Expected(NamedTuple):
    """What a file holds."""

    opens: bool  # Whether opening succeeds.
    listed: list[Row]  # What is listed before the first error, if one is met.
    first_error: int | None  # The line a full read stops at.
    errors: set[int]  # All lines that may be complained of.
    findable: dict[bytes, Row] | None  # Every sound record, by name; None if they are out of order.


def is_well_formed(name: bytes) -> bool:
    parts = name.split(b"/")
    return not (
        name == b"@"
        or name.endswith(b".")
        or re.search(rb"[\x00-\x20\x7f:?\[\\^~*]", name)
        or any(not part or part.startswith(b".") or part.endswith(b".lock") for part in parts)
        or any(b".." in part or b"@{" in part for part in parts)
    )


def is_safe(name: bytes) -> bool:
    if name.startswith(b"refs/"):
        return b"\0" not in name and not {b"", b".", b".."} & set(name[5:].split(b"/"))
    return re.fullmatch(rb"[A-Z_]+", name) is not None


def rows_of(records: list[tuple[bytes, bytes, bytes | None]]) -> list[Row]:
    names = [name for name, _, _ in records]
    rows = []
    for i, (name, oid, peeled) in enumerate(records):
        broken = None
        if not is_well_formed(name):
            broken = "bad name" if is_safe(name) else "unsafe name"
        elif b"/" in name and not name.startswith(b"refs/"):
            broken = "unsafe name"
        elif not oid.strip(b"0"):
            broken = "zero oid"
        elif name in names[max(i - 1, 0) : i] + names[i + 1 : i + 2]:
            broken = "duplicate"
        rows.append(Row(name, oid, peeled, broken))
    return rows


def patterns(lines: list[bytes]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """A ref line and a peeled line of the hash with which the first record can be read, or else the last one."""
    hashes = []
    for width in (40, 64):
        digits = rb"([0-9a-fA-F]{%d})" % width
        hashes.append((re.compile(digits + rb"[ \t\r]([^\n]+)\n"), re.compile(rb"\^" + digits + rb"\n")))
    head, tail = lines[:2], lines[-2:]
    if len(head) == 2 and not head[1].startswith(b"^"):
        head.pop()
    if len(tail) == 2 and (not tail[1].startswith(b"^") or tail[0].startswith(b"^")):
        tail.pop(0)
    for record in (head, tail):
        for pair in hashes:
            if record and all(pattern.fullmatch(line) for pattern, line in zip(pair, record, strict=False)):
                return pair
    return hashes[0]


def model(data: bytes) -> Expected:
    lines = re.findall(rb"[^\n]*\n|[^\n]+\Z", data)
    header = re.fullmatch(rb"# pack-refs with: ([^\n]*)\n", lines[0]) if lines else None
    # An object id among the traits: the LF behind them was lost.
    if data.startswith(b"#") and (not header or re.search(rb"[0-9a-fA-F]{40}( |\Z)", header[1])):
        return Expected(False, [], 1, {1}, {})
    first = 1 if header else 0
    ref, peel = patterns(lines[first:])

    sound: list[tuple[bytes, bytes, bytes | None]] = []
    errors: set[int] = set()
    stop: tuple[int, int] | None = None  # The line that a full read stops at, and how many records it lists.
    last_is_sound, in_order, i = True, True, first
    while i < len(lines):
        pair = lines[i : i + 2]
        if len(pair) == 2 and (pair[0].startswith(b"^") or not pair[1].startswith(b"^")):
            pair.pop()
        matches = [pattern.fullmatch(line) for pattern, line in zip((ref, peel), pair, strict=False)]
        found = [match for match in matches if match]
        last_is_sound = len(found) == len(pair)
        if last_is_sound:
            name = found[0][2]
            if sound and name < sound[-1][0]:
                in_order = False
                stop = stop or (i + 1, len(sound))
            peeled = found[1][1] if len(found) == 2 and found[1][1].strip(b"0") else None
            sound.append((name, found[0][1], peeled))
        else:
            errors.add(i + 1 + matches.index(None))
            stop = stop or (max(errors), len(sound))
        i += len(pair)

    if not header or b"sorted" not in header[1].split(b" "):
        sound.sort(key=lambda record: record[0])
        rows = rows_of(sound)
        return Expected(not errors, rows, None, errors, {row.name: row for row in rows})
    line, count = stop or (None, len(sound))
    findable = {row.name: row for row in rows_of(sound)} if in_order else None
    return Expected(last_is_sound, rows_of(sound[:count]), line, errors, findable)


def attempt(action: Callable[[], T]) -> tuple[T | None, CorruptError | None]:
    """What came of it: a value or an error. Any other exception fails the test."""
    try:
        return action(), None
    except CorruptError as error:
        return None, error


def read(items: Iterator[T], convert: Callable[[T], U]) -> tuple[list[U], int | None]:
    """Everything that an iterator yields, and the line of the error that ends it, which it then keeps raising."""
    got: list[U] = []
    _, error = attempt(lambda: got.extend(convert(item) for item in items))
    if error is None:
        return got, None
    _, again = attempt(lambda: next(items))
    assert again is not None
    assert again.args == error.args
    return got, error.line


def row(ref: RefView) -> Row:
    name, oid, peeled = ref
    return Row(bytes(name), bytes(oid), None if peeled is None else bytes(peeled), ref.broken)


def check_place(data: bytes, error: CorruptError) -> None:
    assert data.count(b"\n", 0, error.offset) + 1 == error.line
    assert error.offset == 0 or data[error.offset - 1 : error.offset] == b"\n"


def check_lookups(packed: PackedRefs, data: bytes, expected: Expected) -> None:
    """Where the file is damaged, a lookup may raise; but it may neither miss nor mislead."""
    damaged = bool(expected.errors) or expected.findable is None
    for name in [*(expected.findable or {}), b"refs/absent", b""]:
        there = (expected.findable or {}).get(name)
        is_duplicate = sum(row.name == name for row in expected.listed) > 1 or (there and there.broken == "duplicate")
        found, error = attempt(partial(packed.get, name))
        if error is not None:
            assert damaged or is_duplicate
            check_place(data, error)
        else:
            # Damage between two equal names hides each from the other.
            assert (found and row(found)) == there or (damaged and is_duplicate)
            assert (name in packed) == (found is not None)
    if not damaged:
        for oid in {row.oid.lower() for row in expected.listed}:
            pointing = [row for row in expected.listed if oid in (row.oid.lower(), (row.peeled or b"").lower())]
            assert [row(ref) for ref in packed.points_at(oid)] == pointing
        for prefix in (b"refs/tags/", b"refs/heads/a"):
            chosen = [row for row in expected.listed if row.name.startswith(prefix)]
            assert [row(ref) for ref in packed.refs(prefix)] == chosen


def check(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    expected = model(data)
    packed, error = attempt(lambda: PackedRefs(path))
    assert (error is None) == expected.opens
    if error is not None:
        # Opening looks at the end first, and goes on to read from the start only where it has to.
        assert error.line in (min(expected.errors), max(expected.errors))
        check_place(data, error)
    if packed is None:
        return
    check_lookups(packed, data, expected)
    refs, line = read(iter(packed), lambda ref: (row(ref), bytes(ref)))
    assert [row for row, _ in refs] == expected.listed
    assert line == expected.first_error
    assert read(packed.names(), bytes) == ([row.name for row in expected.listed], line)
    assert read(packed.records(), bytes) == ([record for _, record in refs], line)
    for count in (packed.__len__, lambda: sum(1 for _ in packed)):
        counted, error = attempt(count)
        assert counted == (len(expected.listed) if line is None else None)
        assert (error and error.line) == line


def sample(hash_ids: tuple[bytes, bytes], header: bytes, *, ascending: bool) -> bytes:
    one, two = hash_ids
    records = [
        b"%b HEAD\n" % one,
        b"%b refs/heads/a\n" % two,
        b"%b refs/heads/a-b\n" % one,
        b"%b refs/tags/v1\n^%b\n" % (two, one),
        b"%b refs/tags/v2\n^%b\n" % (one, two),
    ]
    return header + b"".join(records if ascending else reversed(records))


SAMPLES = {
    f"{hash_name}-{kind}": sample(ids, header, ascending=ascending)
    for hash_name, ids in {"sha1": SHA1, "sha256": SHA256}.items()
    for kind, header, ascending in [
        ("sorted", b"# pack-refs with: peeled fully-peeled sorted \n", True),
        ("false", b"# pack-refs with: sorted \n", False),
        ("ascending", b"# pack-refs with: peeled \n", True),
        ("bare", b"", False),
    ]
}
every_sample = pytest.mark.parametrize("data", list(SAMPLES.values()), ids=list(SAMPLES))


@pytest.fixture(name="path", scope="module")
def packed_refs_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "packed-refs"


@every_sample
def test_cut_at_every_byte(path: Path, data: bytes) -> None:
    for length in range(len(data) + 1):
        check(path, data[:length])


@every_sample
def test_every_bit_flipped(path: Path, data: bytes) -> None:
    for i, byte in enumerate(data):
        for bit in range(8):
            check(path, data[:i] + bytes([byte ^ (1 << bit)]) + data[i + 1 :])


@every_sample
def test_every_line_lost_doubled_or_moved(path: Path, data: bytes) -> None:
    lines = data.splitlines(keepends=True)
    for i, line in enumerate(lines):
        others = lines[:i] + lines[i + 1 :]
        check(path, b"".join(others))
        for j in range(len(lines)):
            check(path, b"".join([*lines[:j], line, *lines[j:]]))
            check(path, b"".join([*others[:j], line, *others[j:]]))


LINES = [
    *(line for data in SAMPLES.values() for line in data.splitlines(keepends=True)),
    b"\n",
    b"\r\n",
    b"^\n",
    b"# pack-refs with: sorted\n",
    b"0" * 40 + b" refs/heads/zero\n",
    SHA1[0].upper() + b"\trefs/heads/A\r\n",
    SHA1[0] + b" refs/../x\n",
    SHA1[0] + b" refs/heads/a\0b\n",
    SHA1[1] + b" refs/heads/" + SHA1[0] + b"\n",
    b"^" + SHA1[0] + b" \n",
]
PIECES = [b"# pack-refs with: ", b"sorted", b"refs/", b"\xef\xbb\xbf", *SHA1, *SHA256, b"^", b" ", b"\n", b"\0"]


@st.composite
def shuffled(draw: st.DrawFn) -> bytes:
    """A sample with a few lines, then a few bytes, put in, taken out or moved."""
    lines = draw(st.sampled_from(list(SAMPLES.values()))).splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 5))):
        i, j = draw(st.integers(0, len(lines))), draw(st.integers(0, len(lines)))
        lines[i:j] = draw(st.lists(st.sampled_from(LINES), max_size=3))
    data = bytearray(b"".join(lines))
    for _ in range(draw(st.integers(0, 3))):
        i = draw(st.integers(0, len(data)))
        data[i : i + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(data)


@given(shuffled())
def test_shuffled_lines_and_bytes(path: Path, data: bytes) -> None:
    check(path, data)


@given(st.binary() | st.lists(st.sampled_from(LINES + PIECES)).map(b"".join))
def test_noise(path: Path, data: bytes) -> None:
    check(path, data)
